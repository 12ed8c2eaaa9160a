import type { EnrichedEvent } from '@waymark/contracts'
import { bulkColumns } from '@waymark/database'
import { attributeTo, type LinkTouch, mergeTouches, noTouches, touchesOf } from '@waymark/domain'
import type { ClientBase } from 'pg'

/** The short links that were a conversion's first and last touch within the project's window. */
export type LinkAttribution = { first: LinkTouch | null; last: LinkTouch | null }

type Profile = { id: string; living: string; link_touches: readonly LinkTouch[]; window_days: number | null }
type Increment = { event: EnrichedEvent; touch: 'first' | 'last'; linkId: string; claim: number }

// A profile that was merged is empty; the one that it went up in has the touches.
const READ = `
  SELECT p.id, living.id AS living, living.link_touches,
    (project.settings #>> '{links,attributionWindowDays}')::int AS window_days
  FROM ingest.profiles p JOIN ingest.profiles living ON living.id = coalesce(p.merged_into, p.id)
  LEFT JOIN core.projects project ON project.id = p.project_id
  WHERE p.id = ANY($1::uuid[])`

const columns = bulkColumns<Increment>([
  { name: 'project_id', type: 'uuid', of: ({ event }) => event.projectId },
  { name: 'link_id', type: 'uuid', of: ({ linkId }) => linkId },
  { name: 'occurred_at', type: 'timestamptz', of: ({ event }) => event.timestamp },
  { name: 'touch', type: 'text', of: ({ touch }) => touch },
  {
    name: 'currency',
    type: 'text',
    of: ({ event, claim }) => event.conversions[claim]?.currency ?? '',
  },
  { name: 'amount', type: 'bigint', of: ({ event, claim }) => event.conversions[claim]?.amount ?? 0 },
])

// The join keeps a link from being counted for by another project.
const COUNT = `
  INSERT INTO link.daily_conversions AS known (link_id, day, touch, currency, conversions, revenue)
  SELECT given.link_id, (given.occurred_at AT TIME ZONE 'UTC')::date, given.touch, given.currency, count(*), sum(given.amount)
  FROM ${columns.unnest} AS given (${columns.names})
  JOIN link.links l ON l.id = given.link_id AND l.project_id = given.project_id
  GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
  ON CONFLICT (link_id, day, touch, currency) DO UPDATE SET
    conversions = known.conversions + excluded.conversions, revenue = known.revenue + excluded.revenue`

const NOBODY: LinkAttribution = { first: null, last: null }

/**
 * Finds which short links converting events are due to, by what is stored of their people's touches and by the batch
 * itself, and counts the conversions for these links. Give it all events that were new, in the transaction that stored
 * them. Answers by event id; events that are no conversion are left out.
 */
export const attributeConversions = async (
  client: ClientBase,
  events: readonly EnrichedEvent[],
): Promise<(event: EnrichedEvent) => LinkAttribution> => {
  const converting = events.filter(({ conversions }) => conversions.length > 0)
  if (converting.length === 0) return () => NOBODY
  const profiles = await readProfiles(client, events, converting)
  const attributions = new Map<EnrichedEvent, LinkAttribution>()
  for (const event of converting) {
    const profile = profiles.get(event.profileId ?? '')
    // Without a profile an event can only speak for itself.
    const touches = profile?.touches ?? touchesOf(event).links
    attributions.set(event, attributeTo(touches, event.timestamp, profile?.windowDays))
  }
  const increments = converting.flatMap((event) =>
    (['first', 'last'] as const).flatMap((touch) => {
      const linkId = attributions.get(event)?.[touch]?.linkId
      return linkId ? event.conversions.map((_claim, claim) => ({ event, touch, linkId, claim })) : []
    }),
  )
  if (increments.length > 0) {
    await client.query({ name: 'count-link-conversions', text: COUNT, values: columns.values(increments) })
  }
  return (event) => attributions.get(event) ?? NOBODY
}

/** What is known of the people who convert, the batch's own touches included. By the profile ids that events name. */
const readProfiles = async (
  client: ClientBase,
  events: readonly EnrichedEvent[],
  converting: readonly EnrichedEvent[],
) => {
  const wanted = new Set(converting.flatMap(({ profileId }) => profileId ?? []))
  const touching = events.filter(({ profileId, context }) => profileId !== null && context.shortLink)
  const ids = new Set([...wanted, ...touching.flatMap(({ profileId }) => profileId ?? [])])
  const { rows } = await client.query<Profile>({
    name: 'read-link-touches',
    text: READ,
    values: [[...ids]],
  })
  const livingOf = new Map(rows.map(({ id, living }) => [id, living]))
  const touches = new Map(rows.map((row) => [row.living, { ...noTouches, links: row.link_touches }]))
  for (const event of touching) {
    const living = livingOf.get(event.profileId ?? '') ?? ''
    const known = touches.get(living)
    if (known) touches.set(living, { ...noTouches, links: mergeTouches(known, touchesOf(event)).links })
  }
  return new Map(
    rows.map(({ id, living, window_days }) => [
      id,
      { touches: touches.get(living)?.links ?? [], windowDays: window_days ?? undefined },
    ]),
  )
}
