import { type Static, Type } from 'typebox'
import { cartRefusals } from '../coupon.ts'
import { EnvironmentKey, PRODUCTION } from '../environment.ts'
import { Id, NullableString, Timestamp } from '../schema-parts.ts'
import { busyOrLate, EventName, QUERY_LIMITS } from './analytics-parts.ts'
import { Budget, CouponRules, Discount, nullable } from './coupon-views.ts'
import { DecisionContext, type DecisionReason, decisionReasons } from './decide.ts'
import { DecisionPatch } from './decisions.ts'
import { defineOperation } from './operation.ts'
import { SegmentConditionSchema } from './segments.ts'

/** Maximum days of a backtest. */
export const MAX_BACKTEST_DAYS = 90
/** Maximum people of a backtest, and events of all of them. */
export const MAX_BACKTEST_PEOPLE = 10_000
export const MAX_BACKTEST_EVENTS = 100_000
/** Maximum days of the backtest of a segment, each of which is a query. */
export const MAX_SEGMENT_BACKTEST_DAYS = 14
/** People that a backtest names for each result. */
export const BACKTEST_SAMPLE = 5

const period = {
  days: Type.Integer({
    minimum: 1,
    maximum: MAX_BACKTEST_DAYS,
    description: 'The stored events of so many times 24 hours until now.',
  }),
  maxPeople: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_BACKTEST_PEOPLE,
      description: `How many people to replay at most. Default: ${MAX_BACKTEST_PEOPLE}.`,
    }),
  ),
}

const Unknown = Type.Object({
  code: Type.String(),
  message: Type.String(),
  people: Type.Optional(Type.Integer({ description: 'The replayed people that it concerns.' })),
})

const covered = {
  from: Timestamp,
  to: Timestamp,
  people: Type.Integer({ description: 'People with such an event in the period.' }),
  replayed: Type.Integer({ description: 'Those of them that the other numbers are about.' }),
  sampled: Type.Boolean({
    description:
      `Whether the replayed people are a sample, which does not depend on what they did. At most ${MAX_BACKTEST_PEOPLE} people ` +
      `and ${MAX_BACKTEST_EVENTS} of their events are replayed.`,
  }),
  unknown: Type.Array(Unknown, {
    description: 'What the backtest cannot know, so that it may differ from what happens.',
  }),
}
const Sample = Type.Array(Id, { description: `The ids of up to ${BACKTEST_SAMPLE} of these people.` })

const DecisionBacktestRequest = Type.Object({
  ...period,
  definition: Type.Optional(
    Type.Omit(DecisionPatch, ['version', 'status'], {
      description:
        'What to replay: these fields in place of those of the stored decision, as in `PATCH` of it. Default: the stored ' +
        'decision, also when it is a draft.',
    }),
  ),
  environment: Type.Optional(
    Type.String({
      ...EnvironmentKey,
      default: PRODUCTION,
      description: 'The environment whose rules to replay.',
    }),
  ),
  eventName: Type.Optional(EventName),
  context: Type.Optional(DecisionContext),
})
export type DecisionBacktestRequest = Static<typeof DecisionBacktestRequest>

const counted = {
  people: Type.Integer(),
  evaluations: Type.Integer({ description: 'How often the decision would have been made.' }),
}
const DecisionBacktest = Type.Object({
  key: Type.String(),
  ...covered,
  evaluations: Type.Integer({ description: 'How often the decision would have been made.' }),
  severalVariants: Type.Integer({ description: 'People who would have got more than one variant.' }),
  capped: Type.Object(counted, {
    description:
      'Over the frequency cap: these evaluations gave the fallback variant and count for no variant.',
  }),
  variants: Type.Array(
    Type.Object({
      variant: Type.String(),
      ...counted,
      couponPoolId: Type.Unsafe<string | null>({
        type: ['string', 'null'],
        description: 'The pool of which each of these people would have got one code.',
      }),
      outcomes: Type.Array(
        Type.Object({
          reason: Type.Unsafe<DecisionReason>({ type: 'string', enum: [...decisionReasons] }),
          ruleId: NullableString,
          ...counted,
        }),
        { description: 'By the reason and the rule.' },
      ),
      sample: Sample,
    }),
    {
      description: 'In the order of the definition. People count for each variant that they would have got.',
    },
  ),
})
export type DecisionBacktest = Static<typeof DecisionBacktest>

const TriggerBacktestRequest = Type.Object({
  days: period.days,
  eventName: Type.Optional(EventName),
  filter: Type.Optional(
    Type.Unknown({ description: 'In place of the filter of the trigger; null for none.' }),
  ),
  cooldownSeconds: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 31_536_000, description: 'In place of that of the trigger.' }),
  ),
})
export type TriggerBacktestRequest = Static<typeof TriggerBacktestRequest>

const TriggerBacktest = Type.Object({
  triggerId: Id,
  from: Timestamp,
  to: Timestamp,
  events: Type.Integer({ description: 'Events with this name that were replayed.' }),
  sampled: Type.Boolean({
    description: `Whether only the last ${MAX_BACKTEST_EVENTS} events were replayed; \`from\` is then the first of them.`,
  }),
  fired: Type.Integer({
    description: 'Those of them that would have fired the trigger: the sum of the four below.',
  }),
  emails: Type.Integer({ description: 'Emails that would have been queued.' }),
  noEmail: Type.Integer({ description: 'To people without an address.' }),
  suppressed: Type.Integer({ description: 'To addresses on the suppression list.' }),
  cooldown: Type.Integer({ description: 'Within the cooldown of the person.' }),
  people: Type.Integer({ description: 'People who would have got an email.' }),
  busiestHour: Type.Unsafe<{ at: string; emails: number } | null>({
    anyOf: [Type.Object({ at: Timestamp, emails: Type.Integer() }), { type: 'null' }],
    description:
      'The hour (UTC) with the most emails. Those over the limit of emails of a project an hour would wait for the next one.',
  }),
  sample: Sample,
  unknown: covered.unknown,
})
export type TriggerBacktest = Static<typeof TriggerBacktest>

const PropertyOfEvent = (what: string, name: string) =>
  Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: `The property with ${what}. Default: \`${name}\`.`,
    }),
  )
const Limit = (description: string) =>
  Type.Optional(
    Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      minimum: 1,
      maximum: 1_000_000_000,
      description,
    }),
  )
const PoolBacktestRequest = Type.Object({
  days: period.days,
  eventName: EventName,
  itemsProperty: PropertyOfEvent('the items, as in a cart; what else they have is left out', 'items'),
  currencyProperty: PropertyOfEvent('the currency', 'currency'),
  shippingProperty: PropertyOfEvent('what the shipping costs', 'shippingAmount'),
  discount: Type.Optional(Discount),
  rules: Type.Optional(nullable<CouponRules>(CouponRules)),
  budgetAmount: Type.Optional(nullable<Budget>(Budget)),
  perProfileLimit: Limit('In place of that of the pool; null for none.'),
  maxRedemptions: Limit('In place of that of the pool; null for none.'),
})
export type PoolBacktestRequest = Static<typeof PoolBacktestRequest>

const replayedRefusals = [...cartRefusals, 'profile_limit', 'max_redemptions'] as const
const PoolBacktest = Type.Object({
  poolId: Id,
  from: Timestamp,
  to: Timestamp,
  events: Type.Integer({ description: 'Events with this name that were replayed.' }),
  sampled: TriggerBacktest.properties.sampled,
  unreadable: Type.Integer({
    description: 'Events without a cart: items, or a currency, are missing or not valid.',
  }),
  granted: Type.Integer({ description: 'Carts that would have got a discount.' }),
  people: Type.Integer({ description: 'Their people.' }),
  discounts: Type.Array(
    Type.Object({
      currency: Type.String(),
      discountAmount: Type.Integer({ description: 'In minor units.' }),
    }),
    { description: 'What the discounts would have cost.' },
  ),
  refusals: Type.Array(
    Type.Object({
      reason: Type.Unsafe<(typeof replayedRefusals)[number]>({ type: 'string', enum: [...replayedRefusals] }),
      carts: Type.Integer(),
    }),
    { description: 'Why the other carts would have got none.' },
  ),
  sample: Sample,
  unknown: covered.unknown,
})
export type PoolBacktest = Static<typeof PoolBacktest>

const SegmentBacktestRequest = Type.Object({
  days: Type.Integer({
    minimum: 1,
    maximum: MAX_SEGMENT_BACKTEST_DAYS,
    description: 'The last days (UTC), of which today is the last one.',
  }),
  condition: Type.Optional(SegmentConditionSchema),
})

const SegmentBacktest = Type.Object({
  key: Type.String(),
  days: Type.Array(
    Type.Object({
      day: Type.String({ description: 'Such as `2026-11-28`.' }),
      people: Type.Integer({ description: 'People in the segment at its end, or now.' }),
    }),
  ),
  unknown: covered.unknown,
})
export type SegmentBacktest = Static<typeof SegmentBacktest>

const viewer = { by: 'project', role: 'viewer' } as const

export const backtestDecision = defineOperation({
  id: 'backtestDecision',
  takesLong: true,
  method: 'post',
  readOnly: true,
  path: '/api/projects/{projectId}/decisions/{key}/backtest',
  tag: 'Decisions',
  summary: 'Replay a decision on stored events',
  description:
    'What people would have got in the last days: the decision is made for each of their events, or each event with ' +
    '`eventName`, as if it had been active and within its schedule. It records no exposure, counts no frequency cap and ' +
    `assigns no coupon. ${QUERY_LIMITS}`,
  access: viewer,
  body: DecisionBacktestRequest,
  answers: {
    200: { description: 'The variants and what is not known', schema: DecisionBacktest },
    ...busyOrLate,
  },
})

export const backtestEmailTrigger = defineOperation({
  id: 'backtestEmailTrigger',
  takesLong: true,
  method: 'post',
  readOnly: true,
  path: '/api/projects/{projectId}/email-triggers/{id}/backtest',
  tag: 'Email triggers',
  summary: 'Replay an email trigger on stored events',
  description:
    'Which emails it would have queued in the last days, had it been active all the time, with the event, filter and cooldown ' +
    `of the request in place of its own. It sends nothing. ${QUERY_LIMITS}`,
  access: viewer,
  body: TriggerBacktestRequest,
  answers: {
    200: { description: 'The emails and what is not known', schema: TriggerBacktest },
    ...busyOrLate,
  },
})

export const backtestCouponPool = defineOperation({
  id: 'backtestCouponPool',
  takesLong: true,
  method: 'post',
  readOnly: true,
  path: '/api/projects/{projectId}/coupon-pools/{id}/backtest',
  tag: 'Coupon pools',
  summary: 'Replay a coupon pool on the carts of stored events',
  description:
    'Which discounts the carts of the last days would have got from the pool, with the terms of the request in place of its ' +
    `own, and what they would have cost. It redeems nothing. ${QUERY_LIMITS}`,
  access: viewer,
  body: PoolBacktestRequest,
  answers: {
    200: { description: 'The discounts and what is not known', schema: PoolBacktest },
    ...busyOrLate,
  },
})

export const backtestSegment = defineOperation({
  id: 'backtestSegment',
  takesLong: true,
  method: 'post',
  readOnly: true,
  path: '/api/projects/{projectId}/segments/{key}/backtest',
  tag: 'Segments',
  summary: 'Count the people of a segment on the last days',
  description:
    'How many people were in the segment at the end of each of the last days, by their events until then, with the condition ' +
    `of the request in place of its own. ${QUERY_LIMITS}`,
  access: viewer,
  body: SegmentBacktestRequest,
  answers: { 200: { description: 'The days and what is not known', schema: SegmentBacktest }, ...busyOrLate },
})

export const backtestOperations = [
  backtestDecision,
  backtestEmailTrigger,
  backtestCouponPool,
  backtestSegment,
]
