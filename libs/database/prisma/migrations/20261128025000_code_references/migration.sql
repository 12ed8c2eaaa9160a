-- Places in code that refer to decisions.
CREATE TABLE "decision"."code_references" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "decision_id" UUID NOT NULL,
    "repository" TEXT NOT NULL,
    "commit" TEXT,
    "file" TEXT NOT NULL,
    "line" INTEGER NOT NULL,
    "reported_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "code_references_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "code_references_decision_id_fkey" FOREIGN KEY ("decision_id")
        REFERENCES "decision"."decisions"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "code_references_project_id_repository_idx" ON "decision"."code_references"("project_id", "repository");
CREATE INDEX "code_references_decision_id_id_idx" ON "decision"."code_references"("decision_id", "id");
