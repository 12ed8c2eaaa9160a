import type { Client, Pool } from 'pg'
import type { RawRecord } from '../delivery.ts'

/** A record to append, with its partition. */
export type AppendedRecord = {
  topic: string
  partition: number
  key: string
  value: string
  headers: Record<string, string> | undefined
}

/** `end` is one past the last committed offset. */
export type PartitionEnd = { topic: string; partition: number; end: bigint }

/** A partition that a group consumes. */
type GroupPartition = { group: string; topic: string; partition: number }

// An arbitrary number: the log of a database has one appender.
const APPENDER_LOCK = 7_390_121_465

/** Takes the lock of the log's only writer, until the connection ends. Resolves to false when another one has it. */
export const lockLog = async (client: Client): Promise<boolean> => {
  const { rows } = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [
    APPENDER_LOCK,
  ])
  return rows[0]?.locked ?? false
}

// A loose index scan: one index lookup for each partition. The offsets of the groups count too, because retention may
// have deleted all rows of a partition.
const ENDS = `
  WITH RECURSIVE slots AS (
    (SELECT topic, "partition" FROM bus.log ORDER BY topic, "partition" LIMIT 1)
    UNION ALL
    SELECT following.* FROM slots CROSS JOIN LATERAL (
      SELECT topic, "partition" FROM bus.log WHERE (topic, "partition") > (slots.topic, slots."partition")
      ORDER BY topic, "partition" LIMIT 1
    ) AS following
  )
  SELECT topic, "partition", max("end")::text AS "end" FROM (
    SELECT topic, "partition", last."offset" + 1 AS "end" FROM slots CROSS JOIN LATERAL (
      SELECT "offset" FROM bus.log WHERE log.topic = slots.topic AND log."partition" = slots."partition"
      ORDER BY "offset" DESC LIMIT 1
    ) AS last
    UNION ALL
    SELECT topic, "partition", next FROM bus.log_offsets
  ) AS known GROUP BY topic, "partition"`

/** Reads the ends of all partitions that have or had records. */
export const readEnds = async (client: Client, timeoutMs: number): Promise<PartitionEnd[]> => {
  // A variable, because the types of pg do not declare this option of a query.
  const query = { text: ENDS, query_timeout: timeoutMs }
  const { rows } = await client.query<{ topic: string; partition: number; end: string }>(query)
  return rows.map((row) => ({ ...row, end: BigInt(row.end) }))
}

const INSERT = `
  INSERT INTO bus.log (topic, "partition", "offset", key, value, headers, at)
  SELECT *, now() FROM unnest($1::text[], $2::int[], $3::bigint[], $4::text[], $5::text[], $6::jsonb[])`

/** Appends records at their offsets. */
export const insertRecords = async (
  client: Client,
  records: readonly (AppendedRecord & { offset: bigint })[],
): Promise<void> => {
  await client.query({
    name: 'append',
    text: INSERT,
    values: [
      records.map(({ topic }) => topic),
      records.map(({ partition }) => partition),
      records.map(({ offset }) => offset.toString()),
      records.map(({ key }) => key),
      records.map(({ value }) => value),
      records.map(({ headers }) => (headers ? JSON.stringify(headers) : null)),
    ],
  })
}

const READ = `
  SELECT "offset", key, value, headers FROM (
    SELECT *, sum(octet_length(value)) OVER (ORDER BY "offset") - octet_length(value) AS bytes_before FROM (
      SELECT "offset", key, value, headers FROM bus.log
      WHERE topic = $1 AND "partition" = $2 AND "offset" >= $3 AND "offset" < $4
      ORDER BY "offset" LIMIT $5
    ) AS page
  ) AS sized WHERE bytes_before < $6 ORDER BY "offset"`

/** Reads records of a partition from an offset, before another. A batch ends with the record that exceeds `bytes`. */
export const readRecords = async (
  pool: Pool,
  { topic, partition, from, to }: { topic: string; partition: number; from: bigint; to: bigint },
  { records, bytes }: { records: number; bytes: number },
): Promise<RawRecord[]> => {
  const { rows } = await pool.query<{
    offset: string
    key: string
    value: string
    headers: Record<string, string> | null
  }>({
    name: 'read-log',
    text: READ,
    values: [topic, partition, from.toString(), to.toString(), records, bytes],
  })
  return rows.map(({ offset, key, value, headers }) => ({
    partition,
    offset: BigInt(offset),
    key,
    value: Buffer.from(value),
    headers: headers ?? {},
  }))
}

/** The offset that a group reads next; 0 when it has not committed any. */
export const readOffset = async (
  pool: Pool,
  { group, topic, partition }: GroupPartition,
): Promise<bigint> => {
  const { rows } = await pool.query<{ next: string }>(
    'SELECT next::text FROM bus.log_offsets WHERE consumer_group = $1 AND topic = $2 AND "partition" = $3',
    [group, topic, partition],
  )
  return BigInt(rows[0]?.next ?? 0)
}

const COMMIT = `
  INSERT INTO bus.log_offsets (consumer_group, topic, "partition", next) VALUES ($1, $2, $3, $4)
  ON CONFLICT (consumer_group, topic, "partition") DO UPDATE SET next = excluded.next`

/** Stores the offset that a group reads next. */
export const commitOffset = async (
  pool: Pool,
  { group, topic, partition }: GroupPartition,
  next: bigint,
): Promise<void> => {
  await pool.query({
    name: 'commit-offset',
    text: COMMIT,
    values: [group, topic, partition, next.toString()],
  })
}

// The oldest record that is kept, because retention may have deleted records that a group has not read.
const POSITIONS = `
  SELECT coalesce(oldest."offset", asked."end")::text AS next
  FROM unnest($1::text[], $2::text[], $3::int[], $4::bigint[]) WITH ORDINALITY
    AS asked (consumer_group, topic, "partition", "end", place)
  LEFT JOIN bus.log_offsets USING (consumer_group, topic, "partition")
  LEFT JOIN LATERAL (
    SELECT "offset" FROM bus.log
    WHERE log.topic = asked.topic AND log."partition" = asked."partition"
      AND log."offset" >= coalesce(log_offsets.next, 0) AND log."offset" < asked."end"
    ORDER BY "offset" LIMIT 1
  ) AS oldest ON true
  ORDER BY asked.place`

/** Reads which record each group reads next; its `end` when there is none. `end` is that of the partition. */
export const readPositions = async <T extends GroupPartition & { end: bigint }>(
  pool: Pool,
  asked: readonly T[],
): Promise<(T & { next: bigint })[]> => {
  const { rows } = await pool.query<{ next: string }>(POSITIONS, [
    asked.map(({ group }) => group),
    asked.map(({ topic }) => topic),
    asked.map(({ partition }) => partition),
    asked.map(({ end }) => end.toString()),
  ])
  return asked.map((position, place) => ({ ...position, next: BigInt(rows[place]?.next ?? position.end) }))
}

const READ_BY_ALL = `
  SELECT topic, "partition", min(next)::text AS next FROM bus.log_offsets GROUP BY topic, "partition"`

/** The lowest offset of each partition that a group reads next; earlier records were read by all groups. */
export const readLowestOffsets = async (
  pool: Pool,
): Promise<{ topic: string; partition: number; next: bigint }[]> => {
  const { rows } = await pool.query<{ topic: string; partition: number; next: string }>(READ_BY_ALL)
  return rows.map((row) => ({ ...row, next: BigInt(row.next) }))
}

// The limit is inside the age filter; outside, the scan would read all younger records. `ARRAY` keeps the planner from
// joining the subquery with the whole table.
const SWEEP = `
  DELETE FROM bus.log WHERE topic = $1 AND "partition" = $2 AND "offset" = ANY (ARRAY(
    SELECT "offset" FROM (
      SELECT "offset", at FROM bus.log WHERE topic = $1 AND "partition" = $2 AND "offset" < $3
      ORDER BY "offset" LIMIT $4
    ) AS oldest WHERE at < now() - $5 * interval '1 millisecond'))`

/** Deletes at most `limit` records before an offset that are older than `keepMs`. Resolves to how many. */
export const deleteOldRecords = async (
  pool: Pool,
  { topic, partition, before, keepMs }: { topic: string; partition: number; before: bigint; keepMs: number },
  limit: number,
): Promise<number> => {
  const { rowCount } = await pool.query(SWEEP, [topic, partition, before.toString(), limit, keepMs])
  return rowCount ?? 0
}
