-- How many links a project has, archived ones included. Counting them at each creation would read all of them.
CREATE TABLE "link"."project_counts" (
    "project_id" UUID NOT NULL,
    "links" BIGINT NOT NULL,

    CONSTRAINT "project_counts_pkey" PRIMARY KEY ("project_id"),
    CONSTRAINT "project_counts_project_id_fkey" FOREIGN KEY ("project_id")
        REFERENCES "core"."projects"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
INSERT INTO "link"."project_counts" ("project_id", "links")
SELECT "project_id", count(*) FROM "link"."links" GROUP BY "project_id";
