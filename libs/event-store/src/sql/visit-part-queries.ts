import { VISIT_GAP_MS } from '../store.ts'
import { channelText, hostText } from './channel-queries.ts'
import type { Dialect } from './dialect.ts'

/** The event of a page view. */
export const PAGE_VIEW = 'page_view'

export const DAY_MS = 24 * 60 * 60 * 1_000

/** The session of a part whose events name none. */
export const NO_SESSION = `'00000000-0000-0000-0000-000000000000'::UUID`

/** What is kept of the first page view of a visit. */
export const ENTRY = [
  'path',
  'referrer_host',
  'utm_source',
  'utm_medium',
  'campaign',
  'click_id',
  'country',
  'browser',
  'os',
  'device',
] as const

/** What a query reads of visits besides their times and counts; each costs time and memory. */
export type PartColumns = {
  /** The first page view and the path of the last one. */
  views?: boolean
  paths?: boolean
  conversions?: boolean
}

const VIEW_TIMES = ['first_view', 'first_key', 'last_view', 'last_key'] as const

/** The columns that a part has besides its visitor, session, times, `views` and `converted`. */
export const columnsOfPart = ({ views, paths, conversions }: PartColumns): string[] => [
  ...(views ? [...VIEW_TIMES, ...ENTRY, 'channel', 'exit_path'] : []),
  ...(paths ? ['paths'] : []),
  ...(conversions ? ['conversions'] : []),
]

/** The columns of events `e` that parts are made of, without the visitor. */
export const seenColumns = (dialect: Dialect): string => `
  e.session_id AS session_name, e."time" AS t, ${dialect.epochMs('e."time"')} AS ms, e.event_key AS event_key,
  CASE WHEN e.event_name = '${PAGE_VIEW}' THEN 1 ELSE 0 END AS is_view,
  CASE WHEN length(e.conversions) > 0 THEN 1 ELSE 0 END AS converts, e.conversions AS conversions,
  ${ENTRY.map((name) => `${name === 'campaign' ? 'coalesce(e.link_campaign, e.utm_campaign)' : `e.${name}`} AS ${name}`).join(', ')}`

/** The visitor that an event `e` was stored with; NULL without one. */
export const storedVisitor = (dialect: Dialect): string =>
  `coalesce(e.profile_id, ${dialect.hashedUuid('e.visitor_id')})`

/**
 * Common table expressions that end in `parts`: the events of `tracked`, by visitor and session, or without sessions by
 * gaps. `tracked` has `visitor`, `matched` and `seenColumns`.
 */
export const partsOfTracked = (dialect: Dialect, columns: PartColumns): string[] => {
  const order = dialect.moment('ms', '0', 'event_key')
  const ofViews = 'FILTER (WHERE is_view = 1)'
  const kept = [
    ...(columns.views
      ? [
          `${dialect.firstBy(dialect.record([...ENTRY, 't', 'event_key']), order)} ${ofViews} AS entry`,
          `${dialect.lastBy(dialect.record(['path', 't', 'event_key']), order)} ${ofViews} AS last_one`,
        ]
      : []),
    ...(columns.paths ? [`${dialect.listOf(`coalesce(path, '')`)} ${ofViews} AS paths`] : []),
    ...(columns.conversions ? [`${dialect.concatLists('tracked.conversions')} AS conversions`] : []),
  ]
  const aggregatesOf = (table: string): string =>
    ['min(t) AS began', 'max(t) AS ended', 'sum(is_view) AS views', 'max(converts) AS converted']
      .concat('max(matched) AS is_matched', kept)
      .join(', ')
      .replaceAll('tracked.', `${table}.`)
  const entry = (name: (typeof ENTRY)[number]): string => dialect.member('entry', ENTRY.indexOf(name))
  const channel = channelText(dialect, {
    click: entry('click_id'),
    source: `lower(${entry('utm_source')})`,
    medium: `lower(${entry('utm_medium')})`,
    campaign: entry('campaign'),
    host: hostText(entry('referrer_host')),
  })
  const members = columns.views
    ? [
        ...ENTRY.map((name) => `${entry(name)} AS ${name}`),
        `${channel} AS channel`,
        `${dialect.member('entry', ENTRY.length)} AS first_view`,
        `${dialect.member('entry', ENTRY.length + 1)} AS first_key`,
        `${dialect.member('last_one', 0)} AS exit_path`,
        `${dialect.member('last_one', 1)} AS last_view`,
        `${dialect.member('last_one', 2)} AS last_key`,
      ]
    : []
  const session = `coalesce(${dialect.hashedUuid('session_name')}, ${NO_SESSION})`
  return [
    `gaps AS (
      SELECT *, CASE WHEN ms - lag(ms) OVER (PARTITION BY visitor ORDER BY ${order}) <= ${VISIT_GAP_MS} THEN 0 ELSE 1 END
        AS begins
      FROM tracked WHERE session_name IS NULL
    )`,
    `counted AS (SELECT *, sum(begins) OVER (PARTITION BY visitor ORDER BY ${order}) AS visit FROM gaps)`,
    `tracked_parts AS (
      SELECT visitor, session_name, ${aggregatesOf('tracked')}
      FROM tracked WHERE session_name IS NOT NULL GROUP BY visitor, session_name
      UNION ALL
      SELECT visitor, ${dialect.nullText} AS session_name, ${aggregatesOf('counted')}
      FROM counted GROUP BY visitor, visit
    )`,
    `parts AS (
      SELECT ${[
        'visitor',
        `${session} AS session`,
        'began',
        'ended',
        'views',
        'converted',
        'is_matched',
        ...members,
      ]
        .concat(columns.paths ? ['paths'] : [], columns.conversions ? ['conversions'] : [])
        .join(', ')}
      FROM tracked_parts
    )`,
  ]
}

/**
 * Common table expressions that end in `joined`: the parts of `touching` as visits. Parts of a visitor belong together that
 * have the same session, or none and less than the gap between them.
 */
export const joinedParts = (dialect: Dialect, columns: PartColumns): string[] => {
  const viewed = 'FILTER (WHERE p.views > 0)'
  const momentOf = (which: 'first' | 'last'): string =>
    dialect.moment(dialect.epochMs(`p.${which}_view`), '0', `p.${which}_key`)
  const aggregates = [
    'min(p.began) AS began',
    'max(p.ended) AS ended',
    'sum(p.views) AS views',
    'max(p.converted) AS converted',
    ...(columns.views
      ? [
          `${dialect.firstBy(dialect.record([...ENTRY, 'channel'].map((name) => `p.${name}`)), momentOf('first'))} ${viewed} AS entry`,
          `${dialect.lastBy(dialect.record(['p.exit_path']), momentOf('last'))} ${viewed} AS last_one`,
        ]
      : []),
    ...(columns.paths ? [`${dialect.concatLists('p.paths')} AS paths`] : []),
    ...(columns.conversions ? [`${dialect.concatLists('p.conversions')} AS conversions`] : []),
  ].join(', ')
  const members = columns.views
    ? [
        ...[...ENTRY, 'channel'].map((name, index) => `${dialect.member('entry', index)} AS ${name}`),
        `${dialect.member('last_one', 0)} AS exit_path`,
      ]
    : []
  return [
    `bounded AS (
      SELECT *, ${dialect.epochMs('began')} AS began_ms, ${dialect.epochMs('ended')} AS ended_ms
      FROM touching WHERE session = ${NO_SESSION}
    )`,
    `split AS (
      SELECT *, CASE WHEN began_ms - max(ended_ms) OVER (
          PARTITION BY visitor ORDER BY began_ms ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) <= ${VISIT_GAP_MS} THEN 0 ELSE 1 END AS begins
      FROM bounded
    )`,
    // Parts that begin at the same time are peers, which all get the same number.
    `numbered_parts AS (SELECT *, sum(begins) OVER (PARTITION BY visitor ORDER BY began_ms) AS visit FROM split)`,
    `merged_parts AS (
      SELECT p.visitor AS visitor, ${aggregates} FROM touching AS p WHERE p.session <> ${NO_SESSION} GROUP BY p.visitor, p.session
      UNION ALL
      SELECT p.visitor AS visitor, ${aggregates} FROM numbered_parts AS p GROUP BY p.visitor, p.visit
    )`,
    `joined AS (
      SELECT ${['visitor', 'began', 'ended', 'views', 'converted', ...members]
        .concat(columns.paths ? ['paths'] : [], columns.conversions ? ['conversions'] : [])
        .join(', ')}
      FROM merged_parts
    )`,
  ]
}
