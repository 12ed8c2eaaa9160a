import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { type BulkColumn, bulkColumns } from '@waymark/database'
import { touchesOf } from '@waymark/domain/identity'
import { attributeTo, DEFAULT_ATTRIBUTION_DAYS, type LinkTouch, mergeLinkTouches } from '@waymark/domain/link'
import type { ClientBase } from 'pg'

/** New link touches of a profile. */
export type LinkNews = { projectId: string; profileId: string; touches: readonly LinkTouch[] }

/** The people of a batch of events, whose profiles are locked until the end of the transaction. */
export type TouchedPeople = {
  /** The link touches of a person including those of the batch, by the profile id of an event. */
  linkTouchesOf: (profileId: string) => readonly LinkTouch[] | undefined
  /** One per profile, also when events have the ids of several merged profiles. */
  news: readonly LinkNews[]
}

/** The short links that were a conversion's first and last touch within the project's window. */
export type LinkAttribution = { first: LinkTouch | null; last: LinkTouch | null }

type Conversion = { projectId: string; at: string; currency: string | null; amount: number | null }
/** A conversion to add to the counts of a link (1) or to subtract (-1). */
type Count = Conversion & { linkId: string; variant: string | null; touch: 'first' | 'last'; by: 1 | -1 }
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

const counted: BulkColumn<Count>[] = [
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'link_id', type: 'uuid', of: ({ linkId }) => linkId },
  { name: 'occurred_at', type: 'timestamptz', of: ({ at }) => at },
  { name: 'touch', type: 'text', of: ({ touch }) => touch },
  { name: 'currency', type: 'text', of: ({ currency }) => currency ?? '' },
  { name: 'amount', type: 'bigint', of: ({ amount, by }) => (amount ?? 0) * by },
  { name: 'n', type: 'bigint', of: ({ by }) => by },
]
const countColumns = bulkColumns(counted)
const variantColumns = bulkColumns<Count>([
  ...counted,
  { name: 'variant', type: 'text', of: ({ variant }) => variant },
])

// The join excludes links of other projects.
const COUNT = `
  INSERT INTO link.daily_conversions AS known (link_id, day, touch, currency, conversions, revenue)
  SELECT given.link_id, (given.occurred_at AT TIME ZONE 'UTC')::date, given.touch, given.currency, sum(given.n), sum(given.amount)
  FROM ${countColumns.unnest} AS given (${countColumns.names})
  JOIN link.links l ON l.id = given.link_id AND l.project_id = given.project_id
  GROUP BY 1, 2, 3, 4 HAVING sum(given.n) <> 0 OR sum(given.amount) <> 0 ORDER BY 1, 2, 3, 4
  ON CONFLICT (link_id, day, touch, currency) DO UPDATE SET
    conversions = known.conversions + excluded.conversions, revenue = known.revenue + excluded.revenue`

// Like COUNT, by variant.
const COUNT_VARIANTS = `
  INSERT INTO link.daily_variant_conversions AS known (link_id, day, touch, currency, variant, conversions, revenue)
  SELECT given.link_id, (given.occurred_at AT TIME ZONE 'UTC')::date, given.touch, given.currency, given.variant,
    sum(given.n), sum(given.amount)
  FROM ${variantColumns.unnest} AS given (${variantColumns.names})
  JOIN link.links l ON l.id = given.link_id AND l.project_id = given.project_id
  GROUP BY 1, 2, 3, 4, 5 HAVING sum(given.n) <> 0 OR sum(given.amount) <> 0 ORDER BY 1, 2, 3, 4, 5
  ON CONFLICT (link_id, day, touch, currency, variant) DO UPDATE SET
    conversions = known.conversions + excluded.conversions, revenue = known.revenue + excluded.revenue`

const WINDOWS = `
  SELECT id, (settings #>> '{links,attributionWindowDays}')::int AS days FROM core.projects WHERE id = ANY($1::uuid[])`

type Range = { projectId: string; profileId: string; since: string; last: string; windowDays: number }

const rangeColumns = bulkColumns<Range>([
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'living', type: 'uuid', of: ({ profileId }) => profileId },
  { name: 'since', type: 'timestamptz', of: ({ since }) => since },
  { name: 'last', type: 'timestamptz', of: ({ last }) => last },
  { name: 'window_days', type: 'int', of: ({ windowDays }) => windowDays },
])

// Conversions keep their profile id when it is merged. None occurred more than a day after it was received, which limits
// the rows to read.
const FIND_CONVERSIONS = `
  SELECT c.project_id, c.event_key, c.selector_id, c.occurred_at, c.currency, c.amount,
    c.attribution -> 'firstLinkTouch' AS first, c.attribution -> 'lastLinkTouch' AS last, news.living
  FROM ${rangeColumns.unnest} AS news (${rangeColumns.names})
  CROSS JOIN LATERAL (
    SELECT news.living AS id UNION ALL SELECT p.id FROM ingest.profiles p WHERE p.merged_into = news.living
  ) AS person
  JOIN ingest.conversions c ON c.project_id = news.project_id AND c.profile_id = person.id
    AND c.received_at >= news.since - interval '24 hours'
    AND c.occurred_at BETWEEN news.since AND news.last + make_interval(hours => 24 * news.window_days)
  ORDER BY c.project_id, c.event_key, c.selector_id FOR NO KEY UPDATE OF c`

const attributionColumns = bulkColumns<StoredKey & { links: LinkAttribution }>([
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'event_key', type: 'uuid', of: ({ eventKey }) => eventKey },
  { name: 'selector_id', type: 'uuid', of: ({ selectorId }) => selectorId },
  { name: 'links', type: 'jsonb', of: ({ links }) => JSON.stringify(linkFieldsOf(links)) },
])

const UPDATE_ATTRIBUTION = `
  UPDATE ingest.conversions AS c SET attribution = c.attribution || given.links
  FROM ${attributionColumns.unnest} AS given (${attributionColumns.names})
  WHERE c.project_id = given.project_id AND c.event_key = given.event_key AND c.selector_id = given.selector_id`

const NO_LINKS: LinkAttribution = { first: null, last: null }

/** The fields of a stored conversion. */
export const linkFieldsOf = ({ first, last }: LinkAttribution) => ({
  firstLinkTouch: first,
  lastLinkTouch: last,
})

/**
 * Attributes conversions to short links and counts them: those among `events`, and stored ones of people with new touches,
 * because events may arrive in any order. Call it with all new events, in the transaction that stored them and their
 * touches. Returns the attribution of each event.
 */
export const attributeConversions = async (
  client: ClientBase,
  events: readonly EnrichedEvent[],
  { linkTouchesOf, news }: TouchedPeople,
): Promise<(event: EnrichedEvent) => LinkAttribution> => {
  const converting = events.filter(({ conversions }) => conversions.length > 0)
  if (converting.length === 0 && news.length === 0) return () => NO_LINKS
  const windowOf = await readWindows(client, [...converting, ...news])
  const attributions = new Map<EnrichedEvent, LinkAttribution>()
  for (const event of converting) {
    // Without a profile, only the touches of the event itself are known.
    const touches = linkTouchesOf(event.profileId ?? '') ?? touchesOf(event).links
    attributions.set(event, attributeTo(touches, event.timestamp, windowOf(event)))
  }
  const arrived = converting.flatMap(({ projectId, timestamp: at, conversions }, index) =>
    conversions.flatMap(({ amount, currency }) =>
      countsOf({ projectId, at, amount, currency }, attributions.get(converting[index] as EnrichedEvent), 1),
    ),
  )
  await count(client, [...(await attributeAgain(client, news, windowOf)), ...arrived])
  return (event) => attributions.get(event) ?? NO_LINKS
}

/** Attributes the stored conversions of a profile again after a merge has added touches. */
export const attributeMerged = async (client: ClientBase, news: LinkNews): Promise<void> => {
  if (news.touches.length === 0) return
  await count(client, await attributeAgain(client, [news], await readWindows(client, [news])))
}

type WindowOf = (of: { projectId: string }) => number

/** The attribution windows of projects, in days. */
const readWindows = async (client: ClientBase, of: readonly { projectId: string }[]): Promise<WindowOf> => {
  const { rows } = await client.query<{ id: string; days: number | null }>({
    name: 'attribution-windows',
    text: WINDOWS,
    values: [[...new Set(of.map(({ projectId }) => projectId))]],
  })
  const windows = new Map(rows.map(({ id, days }) => [id, days]))
  return ({ projectId }) => windows.get(projectId) ?? DEFAULT_ATTRIBUTION_DAYS
}

/** Attributes stored conversions again after new touches. Returns the changes of the counts. */
const attributeAgain = async (
  client: ClientBase,
  news: readonly LinkNews[],
  windowOf: WindowOf,
): Promise<Count[]> => {
  if (news.length === 0) return []
  const learned = new Map(news.map(({ profileId, touches }) => [profileId, touches]))
  const ranges = news.flatMap(({ projectId, profileId, touches }) => {
    const [first] = touches
    const last = touches.at(-1)
    if (!first || !last) return []
    return [{ projectId, profileId, since: first.at, last: last.at, windowDays: windowOf({ projectId }) }]
  })
  const { rows } = await client.query<Row>({
    name: 'conversions-of-touched',
    text: FIND_CONVERSIONS,
    values: rangeColumns.values(ranges),
  })
  const changed = rows.flatMap((row) => {
    // The profile may no longer have the touches that the conversion is attributed to.
    const previous = [row.first, row.last].filter((touch) => touch !== null)
    const touches = mergeLinkTouches(previous, learned.get(row.living) ?? [], Number.POSITIVE_INFINITY)
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
  if (changed.length === 0) return []
  await client.query({
    name: 'attribute-again',
    text: UPDATE_ATTRIBUTION,
    values: attributionColumns.values(
      changed.map((one) => ({ ...one, projectId: one.conversion.projectId })),
    ),
  })
  return changed.flatMap(({ conversion, was, links }) => [
    ...countsOf(conversion, was, -1),
    ...countsOf(conversion, links, 1),
  ])
}

const isSame = (a: LinkTouch | null, b: LinkTouch | null): boolean =>
  a?.eventId === b?.eventId && a?.linkId === b?.linkId && a?.at === b?.at

const countsOf = (conversion: Conversion, links: LinkAttribution = NO_LINKS, by: 1 | -1): Count[] =>
  (['first', 'last'] as const).flatMap((touch) => {
    const link = links[touch]
    return link ? [{ ...conversion, linkId: link.linkId, variant: link.variant ?? null, touch, by }] : []
  })

const count = async (client: ClientBase, counts: readonly Count[]): Promise<void> => {
  if (counts.length === 0) return
  await client.query({ name: 'count-link-conversions', text: COUNT, values: countColumns.values(counts) })
  const ofVariants = counts.filter(({ variant }) => variant !== null)
  if (ofVariants.length === 0) return
  const values = variantColumns.values(ofVariants)
  await client.query({ name: 'count-variant-conversions', text: COUNT_VARIANTS, values })
}
