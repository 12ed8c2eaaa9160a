-- Distinguishes a record that is delivered again from another event that was received in the same millisecond. NULL for
-- ids of earlier versions.
ALTER TABLE "ingest"."event_ids" ADD COLUMN "body_hash" INTEGER;

-- Removes the events of a month once all of them are in the column store: only if they are as many as were found there, so
-- that none is lost which a process of the previous version has stored since. A month that such a process may still store
-- events of keeps its partition. It runs with the rights of its owner, because services may not remove tables.
CREATE FUNCTION "ingest"."remove_moved_events"("month" DATE, "moved" BIGINT) RETURNS BOOLEAN
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
AS $$
DECLARE
    partition_name TEXT := 'events_' || to_char(month, 'YYYY_MM');
    found BIGINT;
BEGIN
    IF NOT EXISTS (
        SELECT FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
        WHERE inhparent = 'ingest.events'::regclass AND relname = partition_name
    ) THEN
        RETURN false;
    END IF;
    EXECUTE format('LOCK TABLE partitions.%I IN ACCESS EXCLUSIVE MODE', partition_name);
    EXECUTE format('SELECT count(*) FROM partitions.%I', partition_name) INTO found;
    IF found IS DISTINCT FROM moved THEN
        RETURN false;
    END IF;
    -- Queues keep records for less than a month.
    IF month + interval '2 months' < now() THEN
        EXECUTE format('DROP TABLE partitions.%I', partition_name);
    ELSE
        EXECUTE format('TRUNCATE partitions.%I', partition_name);
    END IF;
    RETURN true;
END
$$;
REVOKE ALL ON FUNCTION "ingest"."remove_moved_events"(DATE, BIGINT) FROM PUBLIC;
