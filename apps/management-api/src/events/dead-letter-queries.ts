import type { Pool } from 'pg'

/** A stored dead letter. */
export type DeadLetterRow = {
  consumer_group: string
  topic: string
  partition: number
  offset: string
  key: string | null
  value: Buffer
  headers: Record<string, unknown>
  reason: string
  failed_at: Date
  replayed_at: Date | null
}

/** Which dead letters to read. `after`: those behind the place of another one, in the order of the read. */
export type DeadLetterQuery = {
  projectId: string
  after?: DeadLetterPlace | undefined
  /** Ids as `deadLetterId` makes them, decoded. */
  ids?: readonly string[] | undefined
  topic?: string | undefined
  group?: string | undefined
  from?: Date | undefined
  to?: Date | undefined
  /** Only those that have not been replayed. */
  open?: boolean
}

/** The place of a dead letter in the order of dead letters, by time first. */
export type DeadLetterPlace = readonly [
  failedAt: string,
  group: string,
  topic: string,
  partition: string,
  offset: string,
]

const PLACE = 'failed_at, consumer_group, topic, "partition", "offset"'
const ID = `consumer_group || chr(10) || topic || chr(10) || "partition" || chr(10) || "offset"`

export const placeOf = (row: DeadLetterRow): DeadLetterPlace => [
  row.failed_at.toISOString(),
  row.consumer_group,
  row.topic,
  `${row.partition}`,
  row.offset,
]

/** The id of a dead letter, before it is encoded. */
export const deadLetterId = (
  row: Pick<DeadLetterRow, 'consumer_group' | 'topic' | 'partition' | 'offset'>,
): string => [row.consumer_group, row.topic, row.partition, row.offset].join('\n')

const conditionsOf = (query: DeadLetterQuery, newestFirst: boolean): { where: string; values: unknown[] } => {
  const values: unknown[] = [query.projectId]
  const conditions = ['project_id = $1']
  const add = (condition: (parameter: () => string) => string, ...given: unknown[]) => {
    conditions.push(condition(() => `$${values.push(given.shift())}`))
  }
  if (query.after)
    add(
      (p) =>
        `(${PLACE}) ${newestFirst ? '<' : '>'} (${p()}::timestamptz, ${p()}, ${p()}, ${p()}::int, ${p()}::bigint)`,
      ...query.after,
    )
  if (query.ids) add((p) => `${ID} = ANY(${p()}::text[])`, query.ids)
  if (query.topic !== undefined) add((p) => `topic = ${p()}`, query.topic)
  if (query.group !== undefined) add((p) => `consumer_group = ${p()}`, query.group)
  if (query.from) add((p) => `failed_at >= ${p()}`, query.from)
  if (query.to) add((p) => `failed_at < ${p()}`, query.to)
  if (query.open) conditions.push('replayed_at IS NULL')
  return { where: conditions.join(' AND '), values }
}

/** Reads dead letters in the order of their places, so that erased ones do not shift pages. */
export const readDeadLetters = async (
  pool: Pool,
  query: DeadLetterQuery,
  { limit, newestFirst }: { limit: number; newestFirst: boolean },
): Promise<DeadLetterRow[]> => {
  const { where, values } = conditionsOf(query, newestFirst)
  // With the table's name, since "offset" alone would be the selected text.
  const order = PLACE.split(', ').map((column) => `dead_letters.${column}${newestFirst ? ' DESC' : ''}`)
  const { rows } = await pool.query<DeadLetterRow>(
    `SELECT consumer_group, topic, "partition", "offset"::text AS "offset", key, value, headers, reason, failed_at, replayed_at
     FROM ingest.dead_letters WHERE ${where} ORDER BY ${order.join(', ')} LIMIT $${values.length + 1}`,
    [...values, limit],
  )
  return rows
}

/** How many there are, up to `max`. */
export const countDeadLetters = async (pool: Pool, query: DeadLetterQuery, max: number): Promise<number> => {
  const { where, values } = conditionsOf(query, false)
  const { rows } = await pool.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM (SELECT FROM ingest.dead_letters WHERE ${where} LIMIT $${values.length + 1}) AS counted`,
    [...values, max],
  )
  return rows[0]?.n ?? 0
}

const MARK = `
  UPDATE ingest.dead_letters SET replayed_at = $1
  WHERE consumer_group = $2 AND topic = $3 AND "partition" = $4 AND "offset" = $5::bigint`

/** Stores when a dead letter was published again. */
export const markReplayed = async (
  pool: Pool,
  { consumer_group, topic, partition, offset }: DeadLetterRow,
  at: Date,
): Promise<void> => {
  await pool.query(MARK, [at, consumer_group, topic, partition, offset])
}
