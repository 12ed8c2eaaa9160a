import type { DeadLetter, EnrichedEvent, Exposure, IdentifyRecord, IngestRecord } from '@waymark/contracts'
import { bulkColumns } from '@waymark/database'
import { type IdentityKind, parseJson } from '@waymark/domain'
import type { ClientBase, Pool } from 'pg'

/** Whom something that was received is about, and when it was received (RFC 3339). */
export type AboutPeople = {
  projectId: string
  receivedAt: string
  people: readonly { kind: IdentityKind; value: string }[]
}

type Row = { place: number; projectId: string; receivedAt: string; kind: IdentityKind; value: string }

const columns = bulkColumns<Row>([
  { name: 'place', type: 'int', of: ({ place }) => place },
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'kind', type: 'text', of: ({ kind }) => kind },
  { name: 'value', type: 'text', of: ({ value }) => value },
  { name: 'received_at', type: 'timestamptz', of: ({ receivedAt }) => receivedAt },
])

/** What an erased visitor or user is remembered by: SQL over a row with `project_id`, `kind` and `value`. */
export const erasureHash = (row: string): string =>
  `sha256(convert_to(${row}.project_id::text || ':' || ${row}.kind || ':' || ${row}.value, 'UTF8'))`

/** Joins a row with `project_id`, `kind` and `value` to its erasure, if there was one. */
export const joinErasure = (row: string): string =>
  `LEFT JOIN ingest.erasures erasure ON erasure.project_id = ${row}.project_id AND erasure.kind = ${row}.kind
    AND erasure.hash = ${erasureHash(row)}`

const LOCK_SHARED = `
  SELECT pg_advisory_xact_lock_shared(hashtextextended('erasure:' || project_id, 0)) FROM unnest($1::text[]) project_id`
const LOCK = `SELECT pg_advisory_xact_lock(hashtextextended('erasure:' || $1, 0))`
const ANY_SINCE = 'SELECT EXISTS (SELECT FROM ingest.erasures WHERE erased_at >= $1) AS found'
const FIND = `
  SELECT DISTINCT given.place FROM ${columns.unnest} AS given (${columns.names}) ${joinErasure('given')}
  WHERE given.received_at <= erasure.erased_at`

/** Waits for transactions that store records of the project, and keeps new ones waiting until this one ends. */
export const lockOutRecords = async (client: ClientBase, projectId: string): Promise<void> => {
  await client.query(LOCK, [projectId])
}

/**
 * Which records must not be stored because the person that they are about was erased after they were received.
 * One cheap question while nobody has been erased since the oldest of them.
 */
export const findErased = async (
  db: Pool | ClientBase,
  records: readonly AboutPeople[],
): Promise<ReadonlySet<number>> => {
  const rows = records.flatMap(({ people, ...record }, place) =>
    people.map((person) => ({ place, ...record, ...person })),
  )
  if (rows.length === 0) return NONE
  const oldest = rows.reduce((least, { receivedAt }) => Math.min(least, Date.parse(receivedAt)), Infinity)
  const any = await db.query<{ found: boolean }>({
    name: 'any-erasure',
    text: ANY_SINCE,
    values: [new Date(oldest)],
  })
  if (!any.rows[0]?.found) return NONE
  const erased = await db.query<{ place: number }>({
    name: 'find-erased',
    text: FIND,
    values: columns.values(rows),
  })
  return new Set(erased.rows.map(({ place }) => place))
}

/**
 * Sorts out, in the transaction that is to store records, those of people who were erased after they were received.
 * Until it ends, nobody in the projects concerned is erased, so that an erasure finds all that was stored before it.
 */
export const withoutErased = async <T>(
  client: ClientBase,
  records: readonly T[],
  about: (record: T) => AboutPeople,
): Promise<{ kept: T[]; erased: T[] }> => {
  if (records.length === 0) return { kept: [], erased: [] }
  const given = records.map(about)
  // In order, so that transactions wait for each other instead of deadlocking.
  const projects = [...new Set(given.map(({ projectId }) => projectId))].sort()
  await client.query({ name: 'lock-out-erasures', text: LOCK_SHARED, values: [projects] })
  const erased = await findErased(client, given)
  return {
    kept: records.filter((_, place) => !erased.has(place)),
    erased: records.filter((_, place) => erased.has(place)),
  }
}

const NONE: ReadonlySet<number> = new Set()

type Ids = { visitorId?: string | null; userId?: string | null }

/** An event is about the user if it names one, else about the visitor: as its profile is found. */
const peopleIn = ({ visitorId, userId }: Ids): AboutPeople['people'] => {
  if (typeof userId === 'string') return [{ kind: 'user', value: userId }]
  return typeof visitorId === 'string' ? [{ kind: 'visitor', value: visitorId }] : []
}

export const aboutEvent = ({ projectId, receivedAt, ...event }: EnrichedEvent): AboutPeople => ({
  projectId,
  receivedAt,
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

/** An identify is about both. */
export const aboutIdentify = ({ projectId, receivedAt, visitorId, userId }: IdentifyRecord): AboutPeople => ({
  projectId,
  receivedAt,
  people: [
    { kind: 'user', value: userId },
    { kind: 'visitor', value: visitorId },
  ],
})

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/

/** Whom a record of any topic is about, as far as its shape can be made out; it may be damaged. */
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

/** Whom a dead letter is about; nobody when its record cannot be made out. */
export const aboutDeadLetter = (letter: DeadLetter): AboutPeople =>
  aboutAnything(parsed(letter.value)) ?? { projectId: '', receivedAt: letter.failedAt, people: [] }

const parsed = (base64: string): unknown => {
  try {
    return parseJson(Buffer.from(base64, 'base64').toString('utf8'))
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
