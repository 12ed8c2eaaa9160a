-- Dashboards and web analytics that secret links show to anyone.
CREATE TABLE "core"."shares" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "dashboard_id" UUID,
    "secret_hash" BYTEA NOT NULL,
    "password_hash" TEXT,
    "frame_hosts" TEXT[] NOT NULL,
    "expires_at" TIMESTAMPTZ(3),
    "version" INTEGER NOT NULL DEFAULT 1,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "shares_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "shares_kind" CHECK ("kind" = 'web' AND "dashboard_id" IS NULL OR "kind" = 'dashboard' AND "dashboard_id" IS NOT NULL),
    CONSTRAINT "shares_project_id_fkey" FOREIGN KEY ("project_id")
      REFERENCES "core"."projects"("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "shares_dashboard_id_fkey" FOREIGN KEY ("dashboard_id")
      REFERENCES "core"."dashboards"("id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE UNIQUE INDEX "shares_secret_hash_key" ON "core"."shares"("secret_hash");
CREATE INDEX "shares_project_id_id_idx" ON "core"."shares"("project_id", "id");
CREATE INDEX "shares_dashboard_id_idx" ON "core"."shares"("dashboard_id");
