-- Creates the partition of a month, so that services need no right to create tables. It runs with the rights of its
-- owner, hence the fixed search path; a date as the only argument leaves nothing to inject.
CREATE FUNCTION "ingest"."create_event_partition"("month" DATE) RETURNS BOOLEAN
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    partition_name TEXT := 'events_' || to_char(month, 'YYYY_MM');
    starts_at TIMESTAMPTZ := month::timestamp AT TIME ZONE 'UTC';
    ends_at TIMESTAMPTZ := (month::timestamp + interval '1 month') AT TIME ZONE 'UTC';
BEGIN
    IF month IS NULL OR extract(day FROM month) <> 1 OR month NOT BETWEEN DATE '2000-01-01' AND DATE '2099-12-01' THEN
        RAISE EXCEPTION 'month is %, but must be the first day of a month from 2000-01 to 2099-12', month
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('waymark:event-partitions', 0));
    IF EXISTS (
        SELECT FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
        WHERE inhparent = 'ingest.events'::regclass AND relname = partition_name
    ) THEN
        RETURN false;
    END IF;
    -- CREATE TABLE … PARTITION OF would lock all writers out; ATTACH does not.
    EXECUTE format('CREATE TABLE partitions.%I (LIKE ingest.events INCLUDING ALL)', partition_name);
    EXECUTE format('ALTER TABLE ingest.events ATTACH PARTITION partitions.%I FOR VALUES FROM (%L) TO (%L)',
        partition_name, starts_at, ends_at);
    RETURN true;
END
$$;
REVOKE ALL ON FUNCTION "ingest"."create_event_partition"(DATE) FROM PUBLIC;
