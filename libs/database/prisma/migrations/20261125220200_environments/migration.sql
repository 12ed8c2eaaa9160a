-- The environments that a project has beside production and staging.
CREATE TABLE "core"."environments" (
    "project_id" UUID NOT NULL,
    "key" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "environments_pkey" PRIMARY KEY ("project_id", "key"),
    CONSTRAINT "environments_project_id_fkey" FOREIGN KEY ("project_id")
        REFERENCES "core"."projects"("id") ON DELETE CASCADE ON UPDATE CASCADE
);

ALTER TABLE "core"."api_keys" ADD COLUMN "environment" TEXT NOT NULL DEFAULT 'production';
