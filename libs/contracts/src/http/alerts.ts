import { type Static, Type } from 'typebox'
import { type ProjectRole, projectRoles } from '../project-role.ts'
import {
  Id,
  Name,
  NullableString,
  NullableTimestamp,
  notBlank,
  patternOf,
  Timestamp,
} from '../schema-parts.ts'
import { MAX_TREND_SERIES } from './analytics.ts'
import { Filter, MAX_FILTERS, TimeZone } from './analytics-parts.ts'
import { defineOperation } from './operation.ts'
import { PageQuery, pageOf, pageParameters } from './page.ts'

/** What an alert can find. `noData`: there is nothing that it could be computed from, or too little to compare it with. */
export const alertStates = ['ok', 'firing', 'noData'] as const
export type AlertState = (typeof alertStates)[number]

/** The intervals of alerts. */
export const alertIntervals = ['hour', 'day'] as const
export type AlertInterval = (typeof alertIntervals)[number]

const conditionTypes = ['above', 'below', 'changedBy', 'unusual'] as const
const directions = ['up', 'down', 'either'] as const
export type AlertDirection = (typeof directions)[number]

/** The figures of the web analytics that an alert can watch. */
export const alertWebFigures = ['visitors', 'visits', 'views', 'bounceRate', 'visitSeconds'] as const
export type AlertWebFigure = (typeof alertWebFigures)[number]

/** How long evaluations are kept, in days. */
export const ALERT_HISTORY_DAYS = 90

const Interval = Type.Enum(alertIntervals)
const State = Type.Enum(alertStates)

const Condition = Type.Object(
  {
    type: Type.Enum(conditionTypes),
    value: Type.Optional(
      Type.Number({
        description:
          'With `above` and `below` the limit; with `changedBy` the percentage, above 0. None with `unusual`.',
      }),
    ),
    direction: Type.Optional(
      Type.Enum(directions, {
        description: 'Of `changedBy` and `unusual`: which changes count; `either` unless given.',
      }),
    ),
  },
  {
    description:
      '`above` or `below` a value; `changedBy` at least so many percent from the interval before; `unusual`: outside of what ' +
      'its own past makes likely, by hour and weekday.',
  },
)
export type AlertCondition = Static<typeof Condition>

const Measure = Type.Object(
  {
    insightId: Type.Optional(Type.String({ format: 'uuid', description: 'A trend or a funnel.' })),
    series: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_TREND_SERIES - 1,
        description: 'Of a trend: the index of the series; 0 unless given. Its breakdown does not matter.',
      }),
    ),
    currency: Type.Optional(
      Type.String({
        ...patternOf('^[A-Z]{3}$', 'a currency such as EUR'),
        description: 'Of a series of `revenue`.',
      }),
    ),
    step: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 9,
        description:
          'Of a funnel: the index of the step, of which the share of those who began counts; the last unless given.',
      }),
    ),
    web: Type.Optional(
      Type.Object(
        {
          figure: Type.Enum(alertWebFigures),
          filters: Type.Optional(Type.Array(Filter, { maxItems: MAX_FILTERS })),
        },
        { description: 'A figure of the web analytics, in place of an insight.' },
      ),
    ),
  },
  { description: 'What is watched: an insight, or a figure of the web analytics.' },
)
export type AlertMeasure = Static<typeof Measure>

const fields = { name: Name, measure: Measure, condition: Condition, interval: Interval }
const channels = {
  emailRoles: Type.Optional(
    Type.Array(Type.Unsafe<ProjectRole>({ type: 'string', enum: projectRoles }), {
      maxItems: projectRoles.length,
      uniqueItems: true,
      description: 'The members with these roles get an email; none unless given.',
    }),
  ),
  webhooks: Type.Optional(
    Type.Boolean({
      description: 'Whether webhooks get `alert.fired` and `alert.resolved`; true unless given.',
    }),
  ),
  slackUrl: Type.Optional(
    Type.Unsafe<string | null>({
      type: ['string', 'null'],
      maxLength: 2_000,
      ...notBlank,
      description:
        'The address of an incoming webhook of Slack, or of a program that understands its messages. It is a secret: answers ' +
        'show only its host and the beginning of its hash.',
    }),
  ),
}
const NewAlert = Type.Object({ ...fields, timeZone: TimeZone, ...channels })
const AlertPatch = Type.Partial(NewAlert)

const nullableNumber = (description: string) =>
  Type.Unsafe<number | null>({ type: ['number', 'null'], description })
const findings = {
  value: nullableNumber('Of the interval; null when there was nothing that it could be computed from.'),
  expected: nullableNumber('What it was compared with: the interval before, or the median of its past.'),
  deviation: nullableNumber('The change in percent, or the robust z-score.'),
}

export const AlertView = Type.Object({
  id: Id,
  name: Type.String(),
  measure: Measure,
  condition: Condition,
  interval: Interval,
  timeZone: Type.String(),
  emailRoles: Type.Array(Type.String()),
  webhooks: Type.Boolean(),
  slackUrl: Type.Unsafe<string | null>({
    ...NullableString,
    description: 'Such as `https://hooks.slack.com/…#5f1b9c0e7d3a`.',
  }),
  state: State,
  firingSince: Type.Unsafe<string | null>({
    ...NullableTimestamp,
    description: 'Null while it does not fire.',
  }),
  mutedUntil: NullableTimestamp,
  bucket: Type.Unsafe<string | null>({
    ...NullableTimestamp,
    description: 'The beginning of the last interval that was evaluated, like the findings that follow.',
  }),
  ...findings,
  problem: Type.Unsafe<string | null>({
    ...NullableString,
    description: 'Why the last evaluation failed; null when it did not.',
  }),
  version: Type.Integer({ description: 'The number of changes.' }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type AlertView = Static<typeof AlertView>

export const AlertEvaluationView = Type.Object({
  id: Id,
  bucket: Type.String({ ...Timestamp, description: 'The beginning of the interval.' }),
  state: State,
  change: Type.Unsafe<string | null>({
    ...NullableString,
    description: '`fired`: it began to fire; `resolved`: that ended; null for neither.',
  }),
  ...findings,
  evaluatedAt: Timestamp,
})

const HistoryQuery = Type.Object({
  ...pageParameters,
  changes: Type.Optional(
    Type.Boolean({ description: 'Whether only those are listed that began or ended to fire.' }),
  ),
})
const Mute = Type.Object({
  until: Type.String({ ...Timestamp, maxLength: 40, description: 'In the future.' }),
})

const tag = 'Alerts'
const collection = '/api/projects/{projectId}/alerts'
const one = `${collection}/{id}`
const viewer = { by: 'project', role: 'viewer' } as const
const editor = { by: 'project', role: 'editor' } as const
const alert = { description: 'The alert', schema: AlertView }

export const createAlert = defineOperation({
  id: 'createAlert',
  method: 'post',
  path: collection,
  tag,
  summary: 'Watch a figure',
  description:
    'The last complete interval is evaluated, five minutes after its end. One message is sent when the alert begins to fire, ' +
    'and one when that ends.',
  access: editor,
  effects: [
    {
      effect: 'destination',
      described: 'a `slackUrl`',
      when: ({ body }) => typeof body.slackUrl === 'string',
    },
  ],
  body: NewAlert,
  answers: { 201: alert },
})

export const listAlerts = defineOperation({
  id: 'listAlerts',
  method: 'get',
  path: collection,
  tag,
  summary: 'List alerts',
  access: viewer,
  query: PageQuery,
  answers: { 200: { description: 'A page of alerts, the newest first', schema: pageOf(AlertView) } },
})

export const getAlert = defineOperation({
  id: 'getAlert',
  method: 'get',
  path: one,
  tag,
  summary: 'Read an alert',
  access: viewer,
  answers: { 200: alert },
})

export const updateAlert = defineOperation({
  id: 'updateAlert',
  method: 'patch',
  path: one,
  tag,
  summary: 'Change an alert',
  description: 'It is evaluated again at once.',
  access: editor,
  effects: [
    {
      effect: 'destination',
      described: 'another `slackUrl`',
      when: ({ body, before }) => typeof body.slackUrl === 'string' && body.slackUrl !== before.slackUrl,
    },
  ],
  body: AlertPatch,
  answers: { 200: alert },
})

export const deleteAlert = defineOperation({
  id: 'deleteAlert',
  method: 'delete',
  path: one,
  tag,
  summary: 'Delete an alert and its history',
  access: editor,
  effects: [],
  answers: { 204: { description: 'Deleted' } },
})

export const muteAlert = defineOperation({
  id: 'muteAlert',
  method: 'post',
  path: `${one}/mute`,
  tag,
  summary: 'Send no messages about an alert until a time',
  description: 'It is evaluated meanwhile. If it fires after that time, the message is sent then.',
  access: editor,
  effects: [],
  body: Mute,
  answers: { 200: alert },
})

export const unmuteAlert = defineOperation({
  id: 'unmuteAlert',
  method: 'post',
  path: `${one}/unmute`,
  tag,
  summary: 'Send messages about an alert again',
  access: editor,
  effects: [],
  answers: { 200: alert },
})

export const listAlertHistory = defineOperation({
  id: 'listAlertHistory',
  method: 'get',
  path: `${one}/history`,
  tag,
  summary: 'List the evaluations of an alert',
  description: `Of the last ${ALERT_HISTORY_DAYS} days.`,
  access: viewer,
  query: HistoryQuery,
  answers: {
    200: { description: 'A page of evaluations, the newest first', schema: pageOf(AlertEvaluationView) },
  },
})

export const alertOperations = [
  createAlert,
  listAlerts,
  getAlert,
  updateAlert,
  deleteAlert,
  muteAlert,
  unmuteAlert,
  listAlertHistory,
]
