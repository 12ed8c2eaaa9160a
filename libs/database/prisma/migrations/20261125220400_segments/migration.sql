-- Named groups of people for the conditions of decision rules.
CREATE TABLE "decision"."segments" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "key" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "condition" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "segments_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "segments_project_id_fkey" FOREIGN KEY ("project_id")
        REFERENCES "core"."projects"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "segments_project_id_key_key" ON "decision"."segments"("project_id", "key");

-- The events that segments count, and whether their earlier events are in profile_event_counts.
CREATE TABLE "decision"."counted_events" (
    "project_id" UUID NOT NULL,
    "event" TEXT NOT NULL,
    "since" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "completed_at" TIMESTAMPTZ(3),
    "due_at" TIMESTAMPTZ(3),
    "counted_at" TIMESTAMPTZ(3),
    "counted_key" UUID,

    CONSTRAINT "counted_events_pkey" PRIMARY KEY ("project_id", "event"),
    CONSTRAINT "counted_events_project_id_fkey" FOREIGN KEY ("project_id")
        REFERENCES "core"."projects"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "counted_events_since_idx" ON "decision"."counted_events"("since") WHERE "completed_at" IS NULL;
