import type { EnrichedEvent } from '@waymark/contracts'
import { bulkColumns } from '@waymark/database'
import {
  attributeTo,
  DEFAULT_ATTRIBUTION_DAYS,
  type LinkTouch,
  mergeLinkTouches,
  touchesOf,
} from '@waymark/domain'
import type { ClientBase } from 'pg'

/** Touches that have just been learned of a person. */
export type LinkNews = { projectId: string; profileId: string; touches: readonly LinkTouch[] }

/** The people of a batch of events, whose profiles are locked until the end of the transaction. */
export type TouchedPeople = {
  /** The short links that a person came by, the batch's own included, by the profile id that an event names. */
  linkTouchesOf: (profileId: string) => readonly LinkTouch[] | undefined
  /** One per profile, also when events named several that were merged into it. */
  news: readonly LinkNews[]
}

/** The short links that were a conversion's first and last touch within the project's window. */
export type LinkAttribution = { first: LinkTouch | null; last: LinkTouch | null }

type Conversion = { projectId: string; at: string; currency: string | null; amount: number | null }
/** That a conversion is due to a link (1), or is not any more (-1). */
type Count = Conversion & { linkId: string; touch: 'first' | 'last'; by: 1 | -1 }
type StoredKey = { projectId: string; eventKey: string; selectorId: string }
type Row = {
  project_id: string
  event_key: string
  selector_id: string
  occurred_at: Date
  currency: string | null
  amount: string | null
  first: LinkTouch | null
  last: LinkTouch | null
  living: string
}

const countColumns = bulkColumns<Count>([
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'link_id', type: 'uuid', of: ({ linkId }) => linkId },
  { name: 'occurred_at', type: 'timestamptz', of: ({ at }) => at },
  { name: 'touch', type: 'text', of: ({ touch }) => touch },
  { name: 'currency', type: 'text', of: ({ currency }) => currency ?? '' },
  { name: 'amount', type: 'bigint', of: ({ amount, by }) => (amount ?? 0) * by },
  { name: 'n', type: 'bigint', of: ({ by }) => by },
])

// The join keeps a link from being counted for by another project.
const COUNT = `
  INSERT INTO link.daily_conversions AS known (link_id, day, touch, currency, conversions, revenue)
  SELECT given.link_id, (given.occurred_at AT TIME ZONE 'UTC')::date, given.touch, given.currency, sum(given.n), sum(given.amount)
  FROM ${countColumns.unnest} AS given (${countColumns.names})
  JOIN link.links l ON l.id = given.link_id AND l.project_id = given.project_id
  GROUP BY 1, 2, 3, 4 HAVING sum(given.n) <> 0 OR sum(given.amount) <> 0 ORDER BY 1, 2, 3, 4
  ON CONFLICT (link_id, day, touch, currency) DO UPDATE SET
    conversions = known.conversions + excluded.conversions, revenue = known.revenue + excluded.revenue`

const WINDOWS = `
  SELECT id, (settings #>> '{links,attributionWindowDays}')::int AS days FROM core.projects WHERE id = ANY($1::uuid[])`

type Concern = { projectId: string; profileId: string; since: string; last: string; windowDays: number }

const concernColumns = bulkColumns<Concern>([
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'living', type: 'uuid', of: ({ profileId }) => profileId },
  { name: 'since', type: 'timestamptz', of: ({ since }) => since },
  { name: 'last', type: 'timestamptz', of: ({ last }) => last },
  { name: 'window_days', type: 'int', of: ({ windowDays }) => windowDays },
])

// Conversions keep the profile that they were stored with, also when it is merged. None occurred more than a day after it
// was received, which spares reading all that somebody ever did.
const CONCERNED = `
  SELECT c.project_id, c.event_key, c.selector_id, c.occurred_at, c.currency, c.amount,
    c.attribution -> 'firstLinkTouch' AS first, c.attribution -> 'lastLinkTouch' AS last, news.living
  FROM ${concernColumns.unnest} AS news (${concernColumns.names})
  CROSS JOIN LATERAL (
    SELECT news.living AS id UNION ALL SELECT p.id FROM ingest.profiles p WHERE p.merged_into = news.living
  ) AS person
  JOIN ingest.conversions c ON c.project_id = news.project_id AND c.profile_id = person.id
    AND c.received_at >= news.since - interval '24 hours'
    AND c.occurred_at BETWEEN news.since AND news.last + make_interval(hours => 24 * news.window_days)
  ORDER BY c.project_id, c.event_key, c.selector_id FOR NO KEY UPDATE OF c`

const mendedColumns = bulkColumns<StoredKey & { links: LinkAttribution }>([
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'event_key', type: 'uuid', of: ({ eventKey }) => eventKey },
  { name: 'selector_id', type: 'uuid', of: ({ selectorId }) => selectorId },
  { name: 'links', type: 'jsonb', of: ({ links }) => JSON.stringify(linkFieldsOf(links)) },
])

const MEND = `
  UPDATE ingest.conversions AS c SET attribution = c.attribution || given.links
  FROM ${mendedColumns.unnest} AS given (${mendedColumns.names})
  WHERE c.project_id = given.project_id AND c.event_key = given.event_key AND c.selector_id = given.selector_id`

const NOBODY: LinkAttribution = { first: null, last: null }

/** As they are kept with a conversion. */
export const linkFieldsOf = ({ first, last }: LinkAttribution) => ({
  firstLinkTouch: first,
  lastLinkTouch: last,
})

/**
 * Finds which short links conversions are due to, and counts them for these links: converting events among `events`, and
 * conversions stored before of people of whom a touch is learned only now, since events that are sent by different ways
 * come in any order. Give it all events that were new, in the transaction that stored them and their touches. Answers by
 * event; those that are no conversion are due to nobody.
 */
export const attributeConversions = async (
  client: ClientBase,
  events: readonly EnrichedEvent[],
  { linkTouchesOf, news }: TouchedPeople,
): Promise<(event: EnrichedEvent) => LinkAttribution> => {
  const converting = events.filter(({ conversions }) => conversions.length > 0)
  if (converting.length === 0 && news.length === 0) return () => NOBODY
  const windowOf = await readWindows(client, [...converting, ...news])
  const attributions = new Map<EnrichedEvent, LinkAttribution>()
  for (const event of converting) {
    // Without a profile an event can only speak for itself.
    const touches = linkTouchesOf(event.profileId ?? '') ?? touchesOf(event).links
    attributions.set(event, attributeTo(touches, event.timestamp, windowOf(event)))
  }
  const arrived = converting.flatMap(({ projectId, timestamp: at, conversions }, index) =>
    conversions.flatMap(({ amount, currency }) =>
      countsOf({ projectId, at, amount, currency }, attributions.get(converting[index] as EnrichedEvent), 1),
    ),
  )
  await count(client, [...(await attributeAgain(client, news, windowOf)), ...arrived])
  return (event) => attributions.get(event) ?? NOBODY
}

/** Attributes stored conversions of a person anew whose profile has just got the touches of another. */
export const attributeMerged = async (client: ClientBase, news: LinkNews): Promise<void> => {
  if (news.touches.length === 0) return
  await count(client, await attributeAgain(client, [news], await readWindows(client, [news])))
}

type WindowOf = (of: { projectId: string }) => number

/** How many days after a touch a project attributes conversions to it. */
const readWindows = async (client: ClientBase, of: readonly { projectId: string }[]): Promise<WindowOf> => {
  const { rows } = await client.query<{ id: string; days: number | null }>({
    name: 'attribution-windows',
    text: WINDOWS,
    values: [[...new Set(of.map(({ projectId }) => projectId))]],
  })
  const windows = new Map(rows.map(({ id, days }) => [id, days]))
  return ({ projectId }) => windows.get(projectId) ?? DEFAULT_ATTRIBUTION_DAYS
}

/** Has stored conversions know touches that were learned later, and answers what that changes in the counts. */
const attributeAgain = async (
  client: ClientBase,
  news: readonly LinkNews[],
  windowOf: WindowOf,
): Promise<Count[]> => {
  if (news.length === 0) return []
  const learned = new Map(news.map(({ profileId, touches }) => [profileId, touches]))
  const concerns = news.flatMap(({ projectId, profileId, touches }) => {
    const [first] = touches
    const last = touches.at(-1)
    if (!first || !last) return []
    return [{ projectId, profileId, since: first.at, last: last.at, windowDays: windowOf({ projectId }) }]
  })
  const { rows } = await client.query<Row>({
    name: 'conversions-of-touched',
    text: CONCERNED,
    values: concernColumns.values(concerns),
  })
  const mended = rows.flatMap((row) => {
    // What a conversion was due to counts on, even if the profile has forgotten so old a touch.
    const due = [row.first, row.last].filter((touch) => touch !== null)
    const touches = mergeLinkTouches(due, learned.get(row.living) ?? [], Number.POSITIVE_INFINITY)
    const conversion = {
      projectId: row.project_id,
      at: row.occurred_at.toISOString(),
      currency: row.currency,
      amount: row.amount === null ? null : Number(row.amount),
    }
    const links = attributeTo(touches, conversion.at, windowOf(conversion))
    if (isSame(links.first, row.first) && isSame(links.last, row.last)) return []
    return [{ eventKey: row.event_key, selectorId: row.selector_id, conversion, was: row, links }]
  })
  if (mended.length === 0) return []
  await client.query({
    name: 'attribute-again',
    text: MEND,
    values: mendedColumns.values(mended.map((one) => ({ ...one, projectId: one.conversion.projectId }))),
  })
  return mended.flatMap(({ conversion, was, links }) => [
    ...countsOf(conversion, was, -1),
    ...countsOf(conversion, links, 1),
  ])
}

const isSame = (a: LinkTouch | null, b: LinkTouch | null): boolean =>
  a?.eventId === b?.eventId && a?.linkId === b?.linkId && a?.at === b?.at

const countsOf = (conversion: Conversion, links: LinkAttribution = NOBODY, by: 1 | -1): Count[] =>
  (['first', 'last'] as const).flatMap((touch) => {
    const linkId = links[touch]?.linkId
    return linkId ? [{ ...conversion, linkId, touch, by }] : []
  })

const count = async (client: ClientBase, counts: readonly Count[]): Promise<void> => {
  if (counts.length === 0) return
  await client.query({ name: 'count-link-conversions', text: COUNT, values: countColumns.values(counts) })
}
