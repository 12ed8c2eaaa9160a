-- How far the removal of the ids of a project has come that are older than its setting deduplicationDays.
CREATE TABLE "ingest"."id_removals" (
    "project_id" UUID NOT NULL,
    "due_at" TIMESTAMPTZ(3) NOT NULL,
    "after_key" UUID NOT NULL,

    CONSTRAINT "id_removals_pkey" PRIMARY KEY ("project_id")
);

-- Ids are removed from all pages alike, so new ones use the space again once few of them are dead.
DO $$
BEGIN
    FOR partition IN 0..15 LOOP
        EXECUTE format('ALTER TABLE partitions.%I SET (autovacuum_vacuum_scale_factor = 0.05)',
            'event_ids_' || lpad(partition::text, 2, '0'));
    END LOOP;
END
$$;
