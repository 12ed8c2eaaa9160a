import type { ConversionView } from '@waymark/contracts/http/conversions'
import type { ProfileView, TimelineEntry, Touch } from '@waymark/contracts/http/profile-view'
import type { Identity } from '@waymark/domain/identity'
import { type EventQueries, viewOf } from '@waymark/event-store'
import type { ClientBase, Pool } from 'pg'
import { decodeCursor, encodeCursor, fillPage, unusableCursor } from '../http/page.ts'
import { UUID_PATTERN } from '../http/validation.ts'

const SELECT = `
  SELECT p.id, p.user_id, p.traits, p.first_touch, p.last_touch, p.created_at, p.updated_at,
    ARRAY(SELECT value FROM ingest.identities WHERE profile_id = p.id AND kind = 'visitor' ORDER BY value LIMIT 1000)
      AS visitor_ids`
const FIND = `${SELECT}
  FROM ingest.identities i JOIN ingest.profiles p ON p.id = i.profile_id
  WHERE i.project_id = $1 AND i.kind = $2 AND i.value = $3`
// A merged profile always refers to a profile that is not merged.
const READ = `${SELECT}
  FROM ingest.profiles asked JOIN ingest.profiles p ON p.id = coalesce(asked.merged_into, asked.id)
  WHERE asked.project_id = $1 AND asked.id = $2`

const READ_MANY = `${SELECT}
  FROM ingest.profiles p WHERE p.project_id = $1 AND p.id = ANY ($2::uuid[]) AND p.merged_into IS NULL`

type Row = {
  id: string
  user_id: string | null
  visitor_ids: string[]
  traits: ProfileView['traits']
  first_touch: Touch | null
  last_touch: Touch | null
  created_at: Date
  updated_at: Date
}

/** The profile of a user or visitor, as a list of at most one. */
export const findProfileOf = async (
  pool: Pool,
  { projectId, kind, value }: Identity,
): Promise<ProfileView[]> => {
  const { rows } = await pool.query<Row>({
    name: 'find-profile',
    text: FIND,
    values: [projectId, kind, value],
  })
  return rows.map(view)
}

/** The profile with an id, or the one that it was merged into; `undefined` when there is none. */
export const readProfile = async (
  db: Pool | ClientBase,
  projectId: string,
  id: string,
): Promise<ProfileView | undefined> => {
  const { rows } = await db.query<Row>({ name: 'read-profile', text: READ, values: [projectId, id] })
  return rows.map(view)[0]
}

/** The profiles with these ids that were not merged, in any order. */
export const readProfiles = async (
  pool: Pool,
  projectId: string,
  ids: readonly string[],
): Promise<ProfileView[]> => {
  if (ids.length === 0) return []
  const { rows } = await pool.query<Row>({ name: 'read-profiles', text: READ_MANY, values: [projectId, ids] })
  return rows.map(view)
}

const MERGES = `
  SELECT id, merged_into AS "mergedInto" FROM ingest.profiles
  WHERE project_id = $1 AND id = ANY ($2::uuid[]) AND merged_into IS NOT NULL`

/** Names the present profile of each event: the one that its own profile was merged into, if it was. */
export const withPresentProfiles = async <T extends { profileId: string | null }>(
  pool: Pool,
  projectId: string,
  events: readonly T[],
): Promise<T[]> => {
  const ids = [...new Set(events.flatMap(({ profileId }) => profileId ?? []))]
  if (ids.length === 0) return [...events]
  const { rows } = await pool.query<{ id: string; mergedInto: string }>({
    name: 'read-merges-of-events',
    text: MERGES,
    values: [projectId, ids],
  })
  const merges = new Map(rows.map(({ id, mergedInto }) => [id, mergedInto]))
  return events.map((event) => ({
    ...event,
    profileId: event.profileId && (merges.get(event.profileId) ?? event.profileId),
  }))
}

const view = (row: Row): ProfileView => ({
  id: row.id,
  userId: row.user_id,
  visitorIds: row.visitor_ids,
  traits: row.traits,
  firstTouch: row.first_touch,
  lastTouch: row.last_touch,
  createdAt: row.created_at.toISOString(),
  updatedAt: row.updated_at.toISOString(),
})

/** Of entries received at the same time, an identify comes after an event's conversions, which come after the event. */
const RANKS = { event: 0, conversion: 1, identify: 2 } as const
type Kind = keyof typeof RANKS

/** The place of an entry: entries are listed from the greatest place down. */
type Place = { at: string; rank: number; key: string }
type Placed = { place: Place; entry: TimelineEntry }

const CURSOR = new RegExp(
  `^(\\d{4}-\\d\\d-\\d\\dT[\\d:.]{12}Z)_([0-2])_(${UUID_PATTERN}(?:_${UUID_PATTERN})?)$`,
)
const END: Place = { at: 'infinity', rank: 3, key: '' }

type Person = { projectId: string; profileIds: readonly string[]; userIds: readonly string[] }
type Page = { data: TimelineEntry[]; nextCursor: string | null }

type Stores = { pool: Pool; events: Pick<EventQueries, 'readEvents'> }

/** The timeline of a person, latest received first. New entries do not shift pages. */
export const listTimeline = async (
  stores: Stores,
  person: Person,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<Page> => {
  const start = cursor === undefined ? END : parseCursor(cursor)
  const { data, last } = await fillPage<Placed, TimelineEntry>(
    limit,
    ({ entry }) => entry,
    (previous, take) => readEntries(stores, person, previous?.place ?? start, take),
  )
  return { data, nextCursor: last ? formatCursor(last.place) : null }
}

/** The first entries below a place, from the first ones of each kind. */
const readEntries = async (
  { pool, events }: Stores,
  person: Person,
  before: Place,
  take: number,
): Promise<Placed[]> => {
  const read = async <Row extends { at: Date; key: string }>(
    kind: Kind,
    statement: string,
    view: (row: Row) => Omit<TimelineEntry, 'type' | 'at'>,
  ): Promise<Placed[]> => {
    const rank = RANKS[kind]
    // Entries with the time of the cursor: all, some or none remain, depending on the order of kinds.
    const key = rank < before.rank ? MAX_KEY : rank > before.rank ? '' : before.key
    const values = [person.projectId, person.profileIds, before.at, key, take]
    const { rows } = await pool.query<Row>(statement, values)
    return rows.map((row) => ({
      place: { at: row.at.toISOString(), rank, key: row.key },
      entry: { type: kind, at: row.at.toISOString(), ...view(row) },
    }))
  }
  const userId = person.userIds[0] ?? null
  const found = await Promise.all([
    readEvents(events, person, before, take),
    read<ConversionRow>('conversion', CONVERSIONS, (row) => ({ conversion: conversionView(row) })),
    read<IdentifyRow>('identify', IDENTIFIES, ({ value }) => ({ identify: { visitorId: value, userId } })),
  ])
  return found
    .flat()
    .sort((a, b) => compare(b.place, a.place))
    .slice(0, take)
}

/** The first events of a person below a place. */
const readEvents = async (
  events: Stores['events'],
  { projectId, profileIds }: Person,
  before: Place,
  take: number,
): Promise<Placed[]> => {
  const receivedAt = Date.parse(before.at)
  // An event is the last of the entries that were received at its time.
  const belowOther = before === END ? undefined : { receivedAt: receivedAt + 1 }
  const below = before.rank === RANKS.event ? { receivedAt, eventKey: before.key } : belowOther
  const found: Placed[] = []
  const portion = () => take - found.length
  for await (const portions of events.readEvents({ projectId, profileIds, below, portion })) {
    for (const event of portions.events) {
      const [at, key] = [event.receivedAt, event.eventKey]
      found.push({
        place: { at, rank: RANKS.event, key },
        entry: { type: 'event', at, event: viewOf(event) },
      })
    }
    if (found.length === take) break
  }
  return found
}

const MAX_KEY = 'g'

// Reads each profile by its index, so the time does not depend on the number of entries. Every key sorts before MAX_KEY.
const CONVERSION_KEY = `event_key::text || '_' || selector_id::text`
const CONVERSIONS = `
  SELECT found.* FROM unnest($2::uuid[]) AS profile (id) CROSS JOIN LATERAL (
    SELECT selector_id, event_id, event_name, amount::float8 AS amount, currency, quantity, visitor_id, user_id, profile_id,
      attribution, occurred_at, received_at, received_at AS at, ${CONVERSION_KEY} AS key
    FROM ingest.conversions
    WHERE project_id = $1 AND profile_id = profile.id AND received_at <= $3
      AND (received_at < $3 OR ${CONVERSION_KEY} < $4 COLLATE "C")
    ORDER BY received_at DESC, ${CONVERSION_KEY} COLLATE "C" DESC LIMIT $5
  ) AS found ORDER BY at DESC, key COLLATE "C" DESC LIMIT $5`
const IDENTIFIES = `
  SELECT value, linked_at AS at, linked_by::text AS key FROM ingest.identities
  WHERE project_id = $1 AND profile_id = ANY($2::uuid[]) AND kind = 'visitor' AND linked_at <= $3
    AND (linked_at < $3 OR linked_by::text < $4 COLLATE "C")
  ORDER BY linked_at DESC, linked_by::text COLLATE "C" DESC LIMIT $5`

type ConversionRow = {
  at: Date
  key: string
  selector_id: string
  event_id: string
  event_name: string
  amount: number | null
  currency: string | null
  quantity: number | null
  visitor_id: string | null
  user_id: string | null
  profile_id: string | null
  attribution: ConversionView['attribution']
  occurred_at: Date
  received_at: Date
}
type IdentifyRow = { at: Date; key: string; value: string }

const conversionView = (row: ConversionRow): ConversionView => ({
  selectorId: row.selector_id,
  eventId: row.event_id,
  eventName: row.event_name,
  amount: row.amount,
  currency: row.currency,
  quantity: row.quantity,
  visitorId: row.visitor_id,
  userId: row.user_id,
  profileId: row.profile_id,
  attribution: row.attribution,
  occurredAt: row.occurred_at.toISOString(),
  receivedAt: row.received_at.toISOString(),
})

const compare = (a: Place, b: Place): number =>
  compareText(a.at, b.at) || a.rank - b.rank || compareText(a.key, b.key)

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const formatCursor = ({ at, rank, key }: Place): string => encodeCursor(`${at}_${rank}_${key}`)

const parseCursor = (text: string): Place => {
  const [, at, rank, key] = CURSOR.exec(decodeCursor(text)) ?? []
  if (!at || !rank || !key || Number.isNaN(Date.parse(at))) throw unusableCursor()
  return { at, rank: Number(rank), key }
}
