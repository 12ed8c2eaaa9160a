import { type Static, Type } from 'typebox'
import { Id, notBlank, patternOf } from '../schema-parts.ts'
import { RetryAfterSeconds } from './error-bodies.ts'

/** The operators of filters. */
const filterOperators = [
  'eq',
  'neq',
  'in',
  'not_in',
  'gt',
  'gte',
  'lt',
  'lte',
  'contains',
  'starts_with',
  'exists',
  'not_exists',
] as const
export type FilterOperator = (typeof filterOperators)[number]

/** Maximum characters of a property name, and of a text in a filter. */
export const MAX_PROPERTY_NAME_LENGTH = 500
export const MAX_FILTER_TEXT_LENGTH = 500
/** Maximum values of one `in` or `not_in`. */
export const MAX_FILTER_VALUES = 100
/** Maximum filters of a series or step. */
export const MAX_FILTERS = 10
/** Default and maximum number of groups in a breakdown. */
export const DEFAULT_ANALYTICS_GROUPS = 10
export const MAX_ANALYTICS_GROUPS = 100
/** Maximum days between `from` and `to`. */
export const MAX_ANALYTICS_DAYS = 3_660
/** The earliest and latest time of a query. */
export const EARLIEST_ANALYTICS_TIME = '2000-01-01T00:00:00.000Z'
export const LATEST_ANALYTICS_TIME = '2200-01-01T00:00:00.000Z'

// PostgreSQL does not allow U+0000, so no stored property contains it.
const WITHOUT_ZERO = patternOf('^[^\\u0000]*$', 'text without U+0000')

/** The name of a property in filters and breakdowns. */
export const PropertyName = (description: string) =>
  Type.String({ minLength: 1, maxLength: MAX_PROPERTY_NAME_LENGTH, ...WITHOUT_ZERO, description })

/** A text to compare with or search for. */
export const FilterText = Type.String({ maxLength: MAX_FILTER_TEXT_LENGTH, ...WITHOUT_ZERO })

export const PROPERTY_NAME_DESCRIPTION =
  '`properties.<path>` of the event, `traits.<path>` of its person now, `eventName`, `link`, `campaign`, `utm.source` ' +
  '(`medium`, `campaign`, `term`, `content`) or `context.country` (`browser`, `os`, `device`, `city`, `path`, ' +
  '`referrerHost`, `bot`). A path has up to 5 keys; a dot within a key is written `\\.`, a backslash `\\\\`.'

const Scalar = Type.Union([FilterText, Type.Number(), Type.Boolean()])

export const Filter = Type.Object({
  property: PropertyName(PROPERTY_NAME_DESCRIPTION),
  op: Type.Unsafe<FilterOperator>({
    type: 'string',
    enum: filterOperators,
    description:
      'Comparisons are typed: numbers compare with numbers and strings with strings. A missing value or one of ' +
      'another type matches only `neq`, `not_in` and `not_exists`. Comparisons of text are case-sensitive.',
  }),
  value: Type.Optional(
    Type.Union(
      [
        FilterText,
        Type.Number(),
        Type.Boolean(),
        Type.Array(Scalar, { minItems: 1, maxItems: MAX_FILTER_VALUES }),
      ],
      {
        description:
          'A list for `in` and `not_in`; a string for `contains` and `starts_with`; a number or a string for `gt`, `gte`, ' +
          '`lt` and `lte`; a string, number or boolean for `eq` and `neq`; none for `exists` and `not_exists`.',
      },
    ),
  ),
})
/** A filter in a request. */
export type FilterRequest = Static<typeof Filter>

/** An event must match all filters. */
export const Filters = Type.Array(Filter, {
  maxItems: MAX_FILTERS,
  description: 'All filters must match.',
})

/** The name of an event in a request. */
export const EventName = Type.String({ minLength: 1, maxLength: 200, ...notBlank })

/** The time range in a request. */
export const range = {
  from: Type.String({
    format: 'date-time',
    maxLength: 40,
    description: `Events from this time on, by their \`timestamp\`. Not before ${EARLIEST_ANALYTICS_TIME}.`,
  }),
  to: Type.String({
    format: 'date-time',
    maxLength: 40,
    description: `Events before this time. At most ${MAX_ANALYTICS_DAYS} days after \`from\`, and not after ${LATEST_ANALYTICS_TIME}.`,
  }),
}

export const TimeZone = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 60,
    description: 'The time zone in which days begin, as an IANA name such as `Europe/Berlin`. Default: UTC.',
  }),
)

export const Groups = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: MAX_ANALYTICS_GROUPS,
    description: `Groups of the breakdown, the largest first; ${DEFAULT_ANALYTICS_GROUPS} unless given. All others form one group.`,
  }),
)

/** A group in a result. */
export const group = {
  group: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description:
      'The value of the breakdown as text; null when the event has none, when `other` is true, or without a breakdown.',
  }),
  other: Type.Boolean({
    description: 'Whether this group combines all values without a group of their own.',
  }),
}

/** An ordered list of distinct ids. */
export const orderedIds = (maxItems: number, description: string) =>
  Type.Array(Id, { maxItems, uniqueItems: true, description })

/** How long a query may take, in ms. */
export const QUERY_TIMEOUT_MS = 10_000
/** Queries of one project at a time, in one process. */
export const MAX_QUERIES_PER_PROJECT = 4

/** The limits of queries, for the descriptions of operations. */
export const QUERY_LIMITS = `A query has ${QUERY_TIMEOUT_MS / 1_000} s, and a project runs at most ${MAX_QUERIES_PER_PROJECT} at a time.`

/** The answers of every query after which it can be repeated. */
export const busyOrLate = {
  429: {
    description: `The project runs ${MAX_QUERIES_PER_PROJECT} queries already`,
    schema: RetryAfterSeconds,
  },
  503: {
    description:
      'The query took too long, and `error` names a shorter time range; or a store does not answer',
    schema: RetryAfterSeconds,
  },
}
