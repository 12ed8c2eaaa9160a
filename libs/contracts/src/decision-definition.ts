import { type Static, type TSchema, Type } from 'typebox'
import { EnvironmentKey } from './environment.ts'
import { NOT_BLANK, NullableString, notBlank, patternOf } from './schema-parts.ts'

/** The status of a decision. Only an `active` one applies its rules, within its schedule. Archiving is final. */
export const decisionStatuses = ['draft', 'active', 'paused', 'archived'] as const
export type DecisionStatus = (typeof decisionStatuses)[number]

const strict = { additionalProperties: false }
const nullable = <S extends TSchema>(schema: S, description: string) =>
  Type.Unsafe<Static<S> | null>({ anyOf: [schema, { type: 'null' }], description })

/** A key of a decision, variant, rule or group. Without colons, which separate the parts of hashed strings. */
export const DecisionKey = Type.String(
  patternOf(
    '^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$',
    '1 to 100 letters, digits, `_`, `.` and `-`, of which the first is a letter or digit',
  ),
)
const Percentage = { type: 'number', minimum: 0, maximum: 100 }

const Variant = Type.Object(
  {
    key: DecisionKey,
    value: Type.Unknown({ description: 'Any JSON.' }),
    couponPoolId: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        format: 'uuid',
        description: 'Each person with this variant gets one code of this pool, always the same.',
      }),
    ),
  },
  strict,
)

const Prerequisite = Type.Object(
  { decision: DecisionKey, variants: Type.Array(DecisionKey, { minItems: 1, maxItems: 50 }) },
  strict,
)
const Share = Type.Object(
  { variant: DecisionKey, weight: Type.Number({ minimum: 0, maximum: 1_000_000 }) },
  strict,
)

/** The least and the most that `minPeople` of a step may be. */
export const MIN_STEP_PEOPLE = 100
export const MAX_STEP_PEOPLE = 10_000_000

/** Maximum number of steps of a ramp. */
export const MAX_RAMP_STEPS = 20
const RampStep = Type.Object(
  {
    at: Type.String({ format: 'date-time', maxLength: 40 }),
    percentage: Type.Number({ minimum: 0, maximum: 100 }),
    minPeople: Type.Optional(
      Type.Unsafe<number | null>({
        type: ['integer', 'null'],
        minimum: MIN_STEP_PEOPLE,
        maximum: MAX_STEP_PEOPLE,
        description:
          'The next step begins only when so many people have got each variant of the comparison during this step, and no ' +
          'guard is near its bound.',
      }),
    ),
  },
  strict,
)

/** Maximum number of guards of a rule. */
export const MAX_GUARDS = 10
/** Maximum number of decisions with guards of a project, which bounds the cost of evaluating them. */
export const MAX_GUARDED_DECISIONS = 50
export const guardActions = ['pause', 'rollback', 'hold'] as const
export type GuardAction = (typeof guardActions)[number]
const Guard = Type.Object(
  {
    metric: Type.String({
      minLength: 1,
      maxLength: 250,
      description: 'The key of a metric of the decision.',
    }),
    worseThan: Type.Number({
      minimum: 0,
      maximum: 1_000,
      description: 'The bound in percent: how much worse than that of the control the metric may be.',
    }),
    action: Type.Unsafe<GuardAction>({
      type: 'string',
      enum: [...guardActions],
      description:
        '`pause` turns the decision off in the environment. `rollback` gives nobody the variants of the rule. `hold` keeps ' +
        'a ramp at its present percentage.',
    }),
  },
  strict,
)

const Rule = Type.Object(
  {
    id: Type.Optional(DecisionKey),
    description: Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength: 500 })),
    condition: Type.Optional(
      Type.Unknown({
        description:
          'A JsonLogic condition on `traits`, `context` and `counts`. Default: everyone. `{ "var": ' +
          '"counts.order_placed.30d" }` is how often the person had that event in the last 30 days (UTC), including' +
          ' today; at most 90 days. For a name with dots use `{ "val": ["counts", "order.placed", "30d"] }`. ' +
          'Counting begins when the decision is activated. `{ "segment": "<key>" }` is whether the person is in a segment.',
      }),
    ),
    prerequisites: Type.Optional(
      nullable(
        Type.Array(Prerequisite, { maxItems: 10 }),
        'Other decisions that must be active and have given the person one of these variants.',
      ),
    ),
    rollout: Type.Optional(
      Type.Unsafe<number | null>({
        ...Percentage,
        type: ['number', 'null'],
        description:
          'The percentage of matching people who get the variant, in steps of 0.01. Raising it only adds people.',
      }),
    ),
    ramp: Type.Optional(
      nullable(
        Type.Array(RampStep, { minItems: 1, maxItems: MAX_RAMP_STEPS }),
        'Percentages by time, in place of `rollout`: each step holds from its time until the next one, and nobody gets ' +
          'the variant before the first. Percentages do not fall, so that whoever got the variant keeps it.',
      ),
    ),
    guards: Type.Optional(
      nullable(
        Type.Array(Guard, { maxItems: MAX_GUARDS }),
        'Stop a ramp or an experiment when a metric becomes worse than a bound. Evaluated every 5 minutes.',
      ),
    ),
    variant: Type.Optional(NullableString),
    split: Type.Optional(
      nullable(
        Type.Array(Share, { minItems: 1, maxItems: 50 }),
        'Variants by weight, in place of one variant.',
      ),
    ),
  },
  strict,
)

const EnvironmentStatus = Type.Unsafe<'active' | 'paused'>({ type: 'string', enum: ['active', 'paused'] })
const InEnvironment = Type.Object(
  {
    status: Type.Optional(EnvironmentStatus),
    rules: Type.Optional(Type.Array(Rule, { maxItems: 50 })),
  },
  strict,
)
const Environments = Type.Unsafe<Record<string, Static<typeof InEnvironment> | null>>({
  type: 'object',
  propertyNames: EnvironmentKey,
  additionalProperties: { anyOf: [InEnvironment, { type: 'null' }] },
})

const FrequencyCap = Type.Object(
  {
    count: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
    windowSeconds: Type.Integer({ minimum: 1, maximum: 90 * 24 * 60 * 60 }),
  },
  strict,
)
const Time = Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time' }))
const Schedule = Type.Object({ startsAt: Time, endsAt: Time }, strict)
const ExclusionGroup = Type.Object(
  {
    name: DecisionKey,
    from: Type.Number({ minimum: 0, maximum: 100 }),
    to: Type.Number({ minimum: 0, maximum: 100 }),
  },
  strict,
)

/** Maximum number of metrics of a decision. */
export const MAX_METRICS = 10

/** What a metric measures of each person: whether something happened, or the mean or sum of values. */
export const metricKinds = ['count', 'mean', 'sum'] as const
export const MetricKind = Type.Unsafe<(typeof metricKinds)[number]>({
  type: 'string',
  enum: [...metricKinds],
  description:
    '`count`: the share of people with at least one event or conversion. `sum`: the sum of the values of a person; ' +
    'people without any count as 0. `mean`: the mean of the values of a person; people without any are left out.',
})
export const MetricGoal = Type.Unsafe<'up' | 'down'>({
  type: 'string',
  enum: ['up', 'down'],
  description: 'Whether a higher or a lower value is better.',
})
const Metric = Type.Object(
  {
    key: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        minLength: 1,
        maxLength: 250,
        ...NOT_BLANK,
        description:
          'Unique in the decision. Default: the event or selector with the kind, as `order_placed.sum`.',
      }),
    ),
    selectorId: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        format: 'uuid',
        description: 'Measures the conversions of this metering selector.',
      }),
    ),
    eventName: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        minLength: 1,
        maxLength: 200,
        ...NOT_BLANK,
        description: 'Measures events of this name. Either this or `selectorId` is required.',
      }),
    ),
    property: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        maxLength: 500,
        description:
          'The value, for `mean` and `sum`. Of an event: `properties.<path>`; for `sum` without a property, each event ' +
          'counts as 1. Of a conversion: `amount` (default), `quantity`, or for `sum` `net`: amounts less the discounts of ' +
          'coupons that were not rolled back.',
      }),
    ),
    kind: MetricKind,
    goal: MetricGoal,
    guardrail: Type.Optional(
      Type.Unsafe<boolean | null>({
        type: ['boolean', 'null'],
        description:
          'A metric that must not get worse. It is not part of the adjustment for several metrics.',
      }),
    ),
  },
  strict,
)

/** Whose buckets a decision uses, if not Waymark's own: those of flagd's providers, by text or by CBOR. */
export const bucketings = ['flagd', 'flagd-cbor'] as const
export type Bucketing = (typeof bucketings)[number]

/** Maximum number of tags of a decision. */
export const MAX_TAGS = 20

/** A decision in a request, without its key and status. */
export const decisionParts = {
  name: Type.Optional(
    Type.Unsafe<string | null>({ type: ['string', 'null'], minLength: 1, maxLength: 200, ...notBlank }),
  ),
  description: Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength: 2_000 })),
  owner: Type.Optional(
    Type.Unsafe<string | null>({
      type: ['string', 'null'],
      minLength: 1,
      maxLength: 200,
      ...notBlank,
      description: 'Who looks after it, such as a team or an email address.',
    }),
  ),
  tags: Type.Optional(
    nullable(
      Type.Array(Type.String({ minLength: 1, maxLength: 50, ...notBlank }), {
        maxItems: MAX_TAGS,
        uniqueItems: true,
      }),
      'Words to find it by.',
    ),
  ),
  variants: Type.Array(Variant, { minItems: 1, maxItems: 50 }),
  fallbackVariant: Type.String({ description: 'The variant of people to whom no rule gives one.' }),
  rules: Type.Array(Rule, { maxItems: 50, description: 'In order: the first that applies decides.' }),
  holdout: Type.Optional(
    Type.Unsafe<number | null>({
      ...Percentage,
      type: ['number', 'null'],
      description: 'The percentage of people to whom no rule applies, in steps of 0.01.',
    }),
  ),
  frequencyCap: Type.Optional(
    nullable(FrequencyCap, 'How often rules may give a person a variant, in a window from the first on.'),
  ),
  schedule: Type.Optional(nullable(Schedule, 'Decides from `startsAt` on and before `endsAt`.')),
  exclusionGroup: Type.Optional(
    nullable(
      ExclusionGroup,
      'Rules apply only to people in this slice of the group, from `from` to below `to`, in percent. Slices of ' +
        'a group do not overlap, so that no person is in two of its decisions.',
    ),
  ),
  metrics: Type.Optional(
    nullable(
      Type.Array(Metric, { maxItems: MAX_METRICS }),
      'What the results compare the variants of a split by. Metrics do not change what people get.',
    ),
  ),
  environments: Type.Optional(
    nullable(
      Environments,
      'Status and rules in environments other than production, by their keys; `status` and `rules` of the decision itself ' +
        'are those of production. Without an entry, the decision is off in that environment. An absent `status` or ' +
        '`rules` does not change; null removes the entry.',
    ),
  ),
  bucketing: Type.Optional(
    Type.Unsafe<Bucketing | null>({
      type: ['string', 'null'],
      enum: [...bucketings, null],
      description:
        'How people are divided. null: by the person, who keeps a variant at login. `flagd`: by `visitorId`, else `userId`, ' +
        'as it is sent, in the same way as `fractional` of flagd, so that its providers evaluate the decision locally. ' +
        '`flagd-cbor`: the same for providers that encode what they hash as CBOR. Another one reshuffles everyone.',
    }),
  ),
  salt: Type.Optional(
    Type.String({
      ...patternOf('^[A-Za-z0-9_.-]{1,64}$', '1 to 64 letters, digits, `_`, `.` and `-`'),
      description: 'Part of what is hashed; another one reshuffles everyone.',
    }),
  ),
}
const DecisionParts = Type.Object(decisionParts)
/** A decision in a request. */
export type DecisionParts = Static<typeof DecisionParts>

/** A value that a decision may choose. */
export type DecisionVariant = { key: string; value: unknown; couponPoolId: string | null }

/** A rule: the people it targets, and their variant. Exactly one of `variant` and `split` is set. */
export type DecisionRule = {
  id: string
  description: string | null
  /** JsonLogic. Null matches everyone. */
  condition: unknown
  prerequisites: { decision: string; variants: string[] }[]
  /** Percent. 100 with a ramp. */
  rollout: number
  /** Percentages by time (RFC 3339), ascending. Absent without a ramp. */
  ramp?: { at: string; percentage: number; minPeople?: number }[]
  /** Absent without guards. */
  guards?: DecisionGuard[]
  variant: string | null
  split: { variant: string; weight: number }[] | null
}

/** A bound of a metric of a rule, and what is done when the metric is worse. `worseThan` is in percent of the control. */
export type DecisionGuard = { metric: string; worseThan: number; action: GuardAction }

/** Why and when a guard stopped a rule. */
export type RuleStop = DecisionGuard & {
  /** RFC 3339. */
  at: string
  variant: string
  control: string
  /** The percentage of the rule's rollout when it was stopped. */
  percentage: number
  people: { variant: number; control: number }
  /** Means per person. */
  value: { variant: number | null; control: number | null }
  /** The change as a part of the control's value. Null when that is 0. */
  lift: number | null
  /** Of `lift`, at all times together. Null when the control's value might be 0. */
  interval: [low: number, high: number] | null
}

/** What has become of a rule with guards. */
export type RuleState = {
  /** Guards count people who were first exposed from then on (RFC 3339). */
  countedFrom: string
  /** When the steps of its ramp began that waited for evidence, by their index (RFC 3339). */
  begun?: Record<string, string>
  /** By how much stops have delayed the other steps, in ms. */
  delayMs?: number
  stop?: RuleStop
}
/** By environment and rule. */
export type RuleStates = Record<string, Record<string, RuleState>>

/** What the variants are compared by. Exactly one of `selectorId` and `eventName` is set. */
export type DecisionMetric = {
  key: string
  selectorId: string | null
  eventName: string | null
  property: string | null
  kind: (typeof metricKinds)[number]
  goal: 'up' | 'down'
  guardrail: boolean
}

/** The status and rules of a decision in an environment other than production. */
export type DecisionEnvironment = { status: 'active' | 'paused'; rules: DecisionRule[] }

/** A decision as stored, with all defaults. Percentages are from 0 to 100. */
export type DecisionDefinition = {
  name: string | null
  description: string | null
  /** Absent without one. */
  owner?: string
  /** Absent without any. */
  tags?: string[]
  variants: DecisionVariant[]
  fallbackVariant: string
  rules: DecisionRule[]
  holdout: number
  frequencyCap: { count: number; windowSeconds: number } | null
  schedule: { startsAt: string | null; endsAt: string | null } | null
  exclusionGroup: { name: string; from: number; to: number } | null
  /** Absent in decisions that were saved before there were metrics. */
  metrics?: DecisionMetric[]
  /** Absent for Waymark's own. */
  bucketing?: Bucketing
  /** By key. Absent when production is the only one. */
  environments?: Record<string, DecisionEnvironment>
  salt: string
}

/** One version of a decision of a project. */
export type Decision = {
  id: string
  projectId: string
  key: string
  status: DecisionStatus
  /** Increases with every change, including changes of the status. */
  version: number
  /** The environment whose status and rules these are. Absent for production. */
  environment?: string
  /** Absent or null while no rule has had guards. */
  states?: RuleStates | null
  definition: DecisionDefinition
}

/** The status in the API. */
export const DecisionStatusSchema = Type.Unsafe<DecisionStatus>({
  type: 'string',
  enum: [...decisionStatuses],
})
