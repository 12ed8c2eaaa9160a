-- What was added to a project as an example, so that it can be removed again.
CREATE TABLE "core"."demo_data" (
    "project_id" UUID NOT NULL,
    "visitor_ids" TEXT[] NOT NULL,
    "user_ids" TEXT[] NOT NULL,
    "resources" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "completed_at" TIMESTAMPTZ(3),
    "removed_at" TIMESTAMPTZ(3),

    CONSTRAINT "demo_data_pkey" PRIMARY KEY ("project_id"),
    CONSTRAINT "demo_data_project_id_fkey" FOREIGN KEY ("project_id")
        REFERENCES "core"."projects"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
