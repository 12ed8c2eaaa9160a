-- The secret by which a project's servers prove users to browser calls. A table of its own, so that nothing that reads
-- projects shows it.
CREATE TABLE "core"."identity_secrets" (
    "project_id" UUID NOT NULL,
    "secret" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "identity_secrets_pkey" PRIMARY KEY ("project_id"),
    CONSTRAINT "identity_secrets_project_id_fkey" FOREIGN KEY ("project_id")
      REFERENCES "core"."projects"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
