-- Counts the statements of the previous version that store events, so that a month is removed without counting its events
-- while writers wait: only when nothing was stored since all of it was found in the event store.
-- Replaces ingest.remove_moved_events.
CREATE SEQUENCE "ingest"."event_writes";

CREATE FUNCTION "ingest"."count_event_write"() RETURNS TRIGGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM nextval('ingest.event_writes');
    RETURN NULL;
END
$$;
CREATE TRIGGER "count_event_write" BEFORE INSERT ON "ingest"."events"
    FOR EACH STATEMENT EXECUTE FUNCTION "ingest"."count_event_write"();

-- How many statements have stored events so far, all of which have been committed or rolled back: it waits for writers.
CREATE FUNCTION "ingest"."event_writes"() RETURNS BIGINT
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
AS $$
BEGIN
    LOCK TABLE ONLY ingest.events IN SHARE MODE;
    RETURN (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM ingest.event_writes);
END
$$;
REVOKE ALL ON FUNCTION "ingest"."event_writes"() FROM PUBLIC;

-- Removes the events of a month, unless events were stored since there were `writes`. A month that a process of the
-- previous version may still store events of keeps its partition. It runs with the rights of its owner, because services
-- may not remove tables.
CREATE FUNCTION "ingest"."remove_moved_month"("month" DATE, "writes" BIGINT) RETURNS BOOLEAN
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
AS $$
DECLARE
    partition_name TEXT := 'events_' || to_char(month, 'YYYY_MM');
BEGIN
    IF NOT EXISTS (
        SELECT FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
        WHERE inhparent = 'ingest.events'::regclass AND relname = partition_name
    ) THEN
        RETURN false;
    END IF;
    LOCK TABLE ONLY ingest.events IN ACCESS EXCLUSIVE MODE;
    IF writes IS DISTINCT FROM (
        SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM ingest.event_writes
    ) THEN
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
REVOKE ALL ON FUNCTION "ingest"."remove_moved_month"(DATE, BIGINT) FROM PUBLIC;
