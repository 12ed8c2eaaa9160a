-- What happened at a time, shown on charts.
CREATE TABLE "core"."annotations" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "text" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "annotations_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "annotations_project_id_fkey" FOREIGN KEY ("project_id")
      REFERENCES "core"."projects"("id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE INDEX "annotations_project_id_at_idx" ON "core"."annotations"("project_id", "at");
