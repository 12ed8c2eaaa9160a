import type { Exposure } from '@waymark/contracts/records/change-records'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import type { IdentifyRecord, IngestRecord } from '@waymark/contracts/records/ingest-record'
import type { DeadLetter } from '@waymark/contracts/records/quarantine-records'
import { bulkColumns } from '@waymark/database'
import type { IdentityKind } from '@waymark/domain/identity'
import { parseClientJson } from '@waymark/domain/json'
import type { ClientBase, Pool } from 'pg'

/** The people of a record, and when it was received (RFC 3339). */
export type AboutPeople = {
  projectId: string
  receivedAt: string
  people: readonly { kind: IdentityKind; value: string }[]
}

type Row = { index: number; projectId: string; receivedAt: string; kind: IdentityKind; value: string }

const columns = bulkColumns<Row>([
  { name: 'index', type: 'int', of: ({ index }) => index },
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'kind', type: 'text', of: ({ kind }) => kind },
  { name: 'value', type: 'text', of: ({ value }) => value },
  { name: 'received_at', type: 'timestamptz', of: ({ receivedAt }) => receivedAt },
])

/** The hash by which an erased visitor or user is recognized: SQL over a row with `project_id`, `kind` and `value`. */
export const erasureHash = (row: string): string =>
  `sha256(convert_to(${row}.project_id::text || ':' || ${row}.kind || ':' || ${row}.value, 'UTF8'))`

/** Joins a row with `project_id`, `kind` and `value` to its erasure, if there is one. */
export const joinErasure = (row: string): string =>
  `LEFT JOIN ingest.erasures erasure ON erasure.project_id = ${row}.project_id AND erasure.kind = ${row}.kind
    AND erasure.hash = ${erasureHash(row)}`

const LOCK_SHARED = `
  SELECT pg_advisory_xact_lock_shared(hashtextextended('erasure:' || project_id, 0)) FROM unnest($1::text[]) project_id`
const LOCK = `SELECT pg_advisory_xact_lock(hashtextextended('erasure:' || $1, 0))`
const ANY_SINCE = 'SELECT EXISTS (SELECT FROM ingest.erasures WHERE erased_at >= $1) AS found'
const FIND = `
  SELECT DISTINCT given.index FROM ${columns.unnest} AS given (${columns.names}) ${joinErasure('given')}
  WHERE given.received_at <= erasure.erased_at`

/** Waits for transactions that store records of the project, and blocks new ones until this transaction ends. */
export const lockOutRecords = async (client: ClientBase, projectId: string): Promise<void> => {
  await client.query(LOCK, [projectId])
}

/**
 * The indexes of records whose person was erased after they were received. They must not be stored. Takes one cheap query
 * while no person was erased since the oldest record.
 */
export const findErased = async (
  db: Pool | ClientBase,
  records: readonly AboutPeople[],
): Promise<ReadonlySet<number>> => {
  const oldest = records.reduce((least, { receivedAt }) => Math.min(least, Date.parse(receivedAt)), Infinity)
  if (oldest === Infinity) return NONE
  const any = await db.query<{ found: boolean }>({
    name: 'any-erasure',
    text: ANY_SINCE,
    values: [new Date(oldest)],
  })
  if (!any.rows[0]?.found) return NONE
  const rows = records.flatMap(({ people, ...record }, index) =>
    people.map((person) => ({ index, ...record, ...person })),
  )
  const erased = await db.query<{ index: number }>({
    name: 'find-erased',
    text: FIND,
    values: columns.values(rows),
  })
  return new Set(erased.rows.map(({ index }) => index))
}

/**
 * Separates the records of people who were erased after they were received. Call it in the transaction that stores them:
 * until it ends, erasures in these projects wait, so that they find everything that was stored before.
 */
export const withoutErased = async <T>(
  client: ClientBase,
  records: readonly T[],
  about: (record: T) => AboutPeople,
): Promise<{ kept: T[]; erased: T[] }> => {
  if (records.length === 0) return { kept: [], erased: [] }
  const given = records.map(about)
  // Sorted, so that transactions do not deadlock.
  const projects = [...new Set(given.map(({ projectId }) => projectId))].sort()
  await client.query({ name: 'lock-out-erasures', text: LOCK_SHARED, values: [projects] })
  const erased = await findErased(client, given)
  return {
    kept: records.filter((_, index) => !erased.has(index)),
    erased: records.filter((_, index) => erased.has(index)),
  }
}

const NONE: ReadonlySet<number> = new Set()

type Ids = { visitorId?: string | null; userId?: string | null }

/** An event belongs to its user if it has one, else to its visitor, like its profile. */
const peopleIn = ({ visitorId, userId }: Ids): AboutPeople['people'] => {
  if (typeof userId === 'string') return [{ kind: 'user', value: userId }]
  return typeof visitorId === 'string' ? [{ kind: 'visitor', value: visitorId }] : []
}

export const aboutEvent = (event: EnrichedEvent): AboutPeople => ({
  projectId: event.projectId,
  receivedAt: event.receivedAt,
  people: peopleIn(event),
})

export const aboutRecord = ({ projectId, receivedAt, event }: IngestRecord): AboutPeople => ({
  projectId,
  receivedAt,
  people: peopleIn(event),
})

export const aboutExposure = ({ projectId, exposedAt, ...exposure }: Exposure): AboutPeople => ({
  projectId,
  receivedAt: exposedAt,
  people: peopleIn(exposure),
})

/** An identify record belongs to both. */
export const aboutIdentify = ({ projectId, receivedAt, visitorId, userId }: IdentifyRecord): AboutPeople => ({
  projectId,
  receivedAt,
  people: [
    { kind: 'user', value: userId },
    { kind: 'visitor', value: visitorId },
  ],
})

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/

/** The people of a record of any topic, which may be malformed. Undefined when they cannot be determined. */
export const aboutAnything = (value: unknown): AboutPeople | undefined => {
  const record = memberOf(value, 'record') ?? value
  const event = memberOf(record, 'event') ?? record
  const projectId = textIn(record, 'projectId')
  const receivedAt = textIn(record, 'receivedAt') ?? textIn(record, 'exposedAt') ?? textIn(record, 'at')
  if (!projectId || !UUID.test(projectId) || !receivedAt || Number.isNaN(Date.parse(receivedAt)))
    return undefined
  const ids = { visitorId: textIn(event, 'visitorId'), userId: textIn(event, 'userId') }
  const both = textIn(record, 'kind') === 'identify'
  const people = both
    ? [...peopleIn({ ...ids, userId: null }), ...peopleIn({ ...ids, visitorId: null })]
    : peopleIn(ids)
  return { projectId, receivedAt, people }
}

/** The people of a dead letter. None when its record cannot be read. */
export const aboutDeadLetter = (letter: DeadLetter): AboutPeople =>
  aboutAnything(parseRecord(Buffer.from(letter.value, 'base64'))) ?? {
    projectId: '',
    receivedAt: letter.failedAt,
    people: [],
  }

/** The JSON of a record. Undefined when it cannot be parsed. */
export const parseRecord = (value: Buffer): unknown => {
  try {
    return parseClientJson(value.toString('utf8'))
  } catch {
    return undefined
  }
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined

const textIn = (value: unknown, name: string): string | null => {
  const text = memberOf(value, name)
  return typeof text === 'string' ? text : null
}
