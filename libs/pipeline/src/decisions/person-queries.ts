import { bulkColumns } from '@waymark/database'
import { type DayCount, type KnownPerson, MAX_COUNT_DAYS } from '@waymark/domain/decision'
import type { Identity } from '@waymark/domain/identity'
import type { ClientBase, Pool } from 'pg'

/** A person's data for decisions. */
export type Person = KnownPerson & { traits: Record<string, unknown>; counts: DayCount[] }

/** A person to find, and the events whose counts are read. */
export type WantedPerson = Identity & { countedEvents: ReadonlySet<string> }

type Row = {
  index: number
  profile_id: string
  bucketing_id: string
  is_users: boolean
  traits: Record<string, unknown>
  counts: DayCount[] | null
}

/** The cache key of a person's data for decisions, by one of their ids. */
export const personCacheKey = ({ projectId, kind, value }: Identity): string =>
  `person:v2:${projectId}:${kind}:${value}`

const columns = bulkColumns<WantedPerson & { index: number }>([
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'kind', type: 'text', of: ({ kind }) => kind },
  { name: 'value', type: 'text', of: ({ value }) => value },
  { name: 'index', type: 'int', of: ({ index }) => index },
  { name: 'events', type: 'text', of: ({ countedEvents }) => eventList(countedEvents) },
])

// Includes the counts of profiles that were merged into this one.
const FIND = `
  SELECT wanted.index, p.id AS profile_id, p.bucketing_id, p.user_id IS NOT NULL AS is_users, p.traits,
    CASE WHEN wanted.events IS NOT NULL THEN (
      SELECT jsonb_agg(jsonb_build_object('event', c.event, 'day', c.day, 'n', c.n + c.earlier))
      FROM decision.profile_event_counts c
      WHERE c.profile_id IN (SELECT p.id UNION ALL SELECT m.id FROM ingest.profiles m WHERE m.merged_into = p.id)
        AND c.event IN (SELECT jsonb_array_elements_text(wanted.events::jsonb))
        AND c.day > (now() AT TIME ZONE 'UTC')::date - ${MAX_COUNT_DAYS}
    ) END AS counts
  FROM ${columns.unnest} AS wanted (${columns.names})
  JOIN ingest.identities i USING (project_id, kind, value)
  JOIN ingest.profiles p ON p.id = i.profile_id`

/** Reads the people of identities, in their order, in one statement. `undefined` for unknown ones. */
export const findPeople = async (
  db: Pool | ClientBase,
  wanted: readonly WantedPerson[],
): Promise<(Person | undefined)[]> => {
  const { rows } = await db.query<Row>({
    name: 'find-people',
    text: FIND,
    values: columns.values(wanted.map((one, index) => ({ ...one, index }))),
  })
  const found: (Person | undefined)[] = wanted.map(() => undefined)
  for (const { index, profile_id, bucketing_id, is_users, traits, counts } of rows) {
    found[index] = {
      profileId: profile_id,
      bucketingId: bucketing_id,
      isUsers: is_users,
      traits,
      counts: counts ?? [],
    }
  }
  return found
}

const eventList = (events: ReadonlySet<string>): string | null =>
  events.size === 0 ? null : JSON.stringify([...events])
