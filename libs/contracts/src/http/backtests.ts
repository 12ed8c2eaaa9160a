import { type Static, Type } from 'typebox'
import { decisionParts } from '../decision-definition.ts'
import { EnvironmentKey, PRODUCTION } from '../environment.ts'
import { Id, NullableString, Timestamp } from '../schema-parts.ts'
import { busyOrLate, EventName, QUERY_LIMITS } from './analytics-parts.ts'
import { DecisionContext, type DecisionReason, decisionReasons } from './decide.ts'
import { defineOperation } from './operation.ts'

/** Maximum days of a backtest. */
export const MAX_BACKTEST_DAYS = 90
/** Maximum people of a backtest, and events of all of them. */
export const MAX_BACKTEST_PEOPLE = 10_000
export const MAX_BACKTEST_EVENTS = 100_000
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
    Type.Object(decisionParts, {
      description:
        'What to replay, as in `PUT` of the decision. Default: the stored decision, also when it is a draft.',
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

export const backtestOperations = [backtestDecision]
