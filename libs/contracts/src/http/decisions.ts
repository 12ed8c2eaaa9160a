import { type Static, type TSchema, Type } from 'typebox'
import {
  DecisionKey,
  DecisionStatusSchema,
  decisionParts,
  guardActions,
  MetricGoal,
  MetricKind,
} from '../decision-definition.ts'
import { EnvironmentKey, PRODUCTION } from '../environment.ts'
import { Id, JsonObject, NullableString, NullableTimestamp, notBlank, Timestamp } from '../schema-parts.ts'
import { DecisionContext, type DecisionReason, decisionReasons } from './decide.ts'
import { ErrorBody, RetryAfterSeconds, Unprocessable } from './error-bodies.ts'
import { optionalId } from './identify.ts'
import { defineOperation } from './operation.ts'
import { equalTo, PageQuery, pageOf, pageParameters } from './page.ts'

const version = {
  version: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: 'The version to change. 412 when it is not the latest.',
    }),
  ),
}
const status = { status: Type.Optional(DecisionStatusSchema) }

const NewDecision = Type.Object({ key: DecisionKey, ...status, ...decisionParts })
const DecisionReplacement = Type.Object({ ...version, ...status, ...decisionParts })
const { variants, fallbackVariant, rules, ...optionalParts } = decisionParts
export const DecisionPatch = Type.Object({
  ...version,
  ...status,
  ...optionalParts,
  variants: Type.Optional(variants),
  fallbackVariant: Type.Optional(fallbackVariant),
  rules: Type.Optional(rules),
})

/** A change of parts of a decision. */
export type DecisionPatch = Static<typeof DecisionPatch>

/** Changes of a decision that may wait for their time. */
export const MAX_PENDING_CHANGES = 20

const changeStatuses = ['pending', 'applied', 'failed', 'cancelled'] as const
const ChangeStatus = Type.Unsafe<(typeof changeStatuses)[number]>({
  type: 'string',
  enum: [...changeStatuses],
})
/** Who made a change. */
export const ChangeAuthor = Type.Object({
  kind: Type.String(),
  id: Type.String(),
  name: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description:
      'The email address of the user or the name of the key; null when it no longer exists, and for callers who may not ' +
      'list the members.',
  }),
})
const NewScheduledChange = Type.Object({
  at: Type.String({ format: 'date-time', maxLength: 40, description: 'When to make it; in the future.' }),
  change: DecisionPatch,
})
const ScheduledChange = Type.Object({
  id: Id,
  at: Timestamp,
  change: JsonObject,
  status: ChangeStatus,
  version: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    description: 'The version that it made, when it was applied.',
  }),
  error: Type.Unsafe<string | null>({ type: ['string', 'null'], description: 'Why it failed.' }),
  scheduledBy: ChangeAuthor,
  createdAt: Timestamp,
  finishedAt: NullableTimestamp,
})

/** Side effects of a change. */
export const Warnings = Type.Array(
  Type.Object({ code: Type.String(), ruleId: NullableString, message: Type.String() }),
  { description: 'Side effects of the change, such as people who get another variant.' },
)

const PerArm = <S extends TSchema>(value: S, description: string) =>
  Type.Object({ variant: value, control: value }, { description })
const Bound = Type.Unsafe<number | null>({ type: ['number', 'null'] })
const Stop = Type.Object({
  environment: Type.String(),
  ruleId: Type.String(),
  metric: Type.String(),
  worseThan: Type.Number({ description: 'The bound, in percent.' }),
  action: Type.Unsafe<(typeof guardActions)[number]>({ type: 'string', enum: [...guardActions] }),
  at: Timestamp,
  variant: Type.String(),
  control: Type.String({ description: 'The variant that it was compared with.' }),
  percentage: Type.Number({ description: 'The percentage of the rule when it was stopped.' }),
  people: PerArm(Type.Integer(), 'People who count.'),
  value: PerArm(Bound, 'Means per person; for the kind `count` the share of people.'),
  lift: Type.Unsafe<number | null>({
    type: ['number', 'null'],
    description: 'The change as a part of the control. Null when that is 0.',
  }),
  interval: Type.Unsafe<[number, number] | null>({
    type: ['array', 'null'],
    items: { type: 'number' },
    description: 'Contains the true `lift` at all times. Null when the value of the control might be 0.',
  }),
})
/** What a guard has stopped, and why. */
export type DecisionStop = Static<typeof Stop>

/** Why a flagd provider cannot evaluate a decision. */
const NotLocal = Type.Object({
  environment: Type.String(),
  ruleId: NullableString,
  code: Type.String({
    description:
      '`bucketing`, `frequency_cap`, `coupons`, `exclusion_group`, `schedule`, `values`, `prerequisites`, `traits`, ' +
      '`counts`, `segments`, `context`, `operation` or `size`.',
  }),
  message: Type.String(),
})

/** The fields of a stored decision that a change is about. */
export const parts = { ...decisionParts, salt: Type.String() }
const DecisionView = Type.Object({
  id: Id,
  key: Type.String(),
  status: DecisionStatusSchema,
  version: Type.Integer({ description: 'The number of changes, including changes of the status.' }),
  ...parts,
  stops: Type.Optional(
    Type.Array(Stop, {
      description: 'What guards have stopped, until `POST resume`. Absent when nothing is.',
    }),
  ),
  stale: Type.Optional(
    Type.Object(
      {
        reason: Type.Unsafe<'not_evaluated' | 'one_variant' | 'off'>({
          type: 'string',
          enum: ['not_evaluated', 'one_variant', 'off'],
          description:
            '`not_evaluated`: no request has asked for it, in any environment. `one_variant`: everyone gets the variant by ' +
            'the rules. `off`: the decision is off.',
        }),
        variant: Type.Optional(
          Type.String({ description: 'What everyone gets. Absent with `not_evaluated`.' }),
        ),
        since: Timestamp,
      },
      {
        description:
          'No request has asked for it for 30 days, or everyone has got the same in production for as long, so that it can ' +
          'be removed from the code. Absent otherwise.',
      },
    ),
  ),
  local: Type.Boolean({
    description:
      'Whether flagd providers can evaluate it in process, with the same result as `/api/v1/decide`, in every environment ' +
      'that it has rules for.',
  }),
  notLocal: Type.Array(NotLocal, { description: 'Why not. Empty when `local` is true.' }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  warnings: Type.Optional(Warnings),
})

/** The number of versions of a decision that are kept, the newest included. */
export const MAX_DECISION_VERSIONS = 500

const DecisionVersion = Type.Object({
  version: Type.Integer(),
  change: Type.String({
    description:
      '`created`, `updated`, `activated`, `paused`, `archived`, `rolled_back`, `scheduled`, `stopped` (by a guard), ' +
      '`advanced` (a step of a ramp whose evidence is there), `resumed`, `approved` (a proposal) or `bypassed` (a proposal ' +
      'without its approvals).',
  }),
  status: DecisionStatusSchema,
  ...parts,
  evidence: Type.Optional(
    Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      additionalProperties: true,
      description: 'The figures with which a guard made this version, or the proposal and its approvals.',
    }),
  ),
  reason: Type.Optional(
    Type.String({
      description: 'Why a person resumed the decision, or made the change without its approvals.',
    }),
  ),
  changedBy: ChangeAuthor,
  changedAt: Timestamp,
})
/** What differs between two versions of a decision. */
export const VersionChanges = Type.Array(
  Type.Object({
    op: Type.Unsafe<'add' | 'replace' | 'remove'>({ type: 'string', enum: ['add', 'replace', 'remove'] }),
    path: Type.String({ description: 'A JSON Pointer, such as `/rules/0/rollout`.' }),
    value: Type.Optional(Type.Unknown({ description: 'The new value; not for `remove`.' })),
    was: Type.Optional(Type.Unknown({ description: 'The value before; not for `add`.' })),
  }),
  {
    description:
      'A JSON Patch (RFC 6902) that turns the status and the definition of the previous version into those of this one.',
  },
)
const ComparedVersion = Type.Object({
  ...DecisionVersion.properties,
  previousVersion: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    description: 'The version that it is compared with. Null for the oldest one that is kept.',
  }),
  changes: VersionChanges,
})

const PreviewRequest = Type.Object({
  visitorId: optionalId('The visitor to explain it for.'),
  userId: optionalId('The user to explain it for.'),
  traits: Type.Optional(
    Type.Unsafe<Record<string, unknown> | null>({
      type: ['object', 'null'],
      additionalProperties: true,
      description: 'Replaces the traits of the person’s profile.',
    }),
  ),
  context: Type.Optional(DecisionContext),
  environment: Type.Optional(
    Type.String({ ...EnvironmentKey, default: PRODUCTION, description: 'The environment to explain.' }),
  ),
})

const BucketView = Type.Object({
  bucket: Type.Integer({ description: 'From 0 to 9,999.' }),
  below: Type.Number({ description: 'Buckets below this number are included.' }),
  in: Type.Boolean(),
})
const NullableBucket = Type.Unsafe<Static<typeof BucketView> | null>({
  anyOf: [BucketView, { type: 'null' }],
})
const Choice = Type.Object({
  variant: Type.String(),
  value: Type.Unknown(),
  reason: Type.Unsafe<DecisionReason>({ type: 'string', enum: [...decisionReasons] }),
  ruleId: NullableString,
})
const Preview = Type.Object({
  key: Type.String(),
  version: Type.Integer(),
  subject: Type.String({ description: 'The value that is hashed for this person.' }),
  profileId: NullableString,
  answer: Choice,
  ifActive: Type.Object(
    { ...Choice.properties },
    { description: 'The answer, as if the decision were active and within its schedule.' },
  ),
  status: DecisionStatusSchema,
  scheduled: Type.Boolean({ description: 'Whether the current time is within its schedule.' }),
  holdout: BucketView,
  exclusionGroup: Type.Unsafe<unknown>({
    anyOf: [
      Type.Object({
        name: Type.String(),
        bucket: Type.Integer(),
        from: Type.Number(),
        to: Type.Number(),
        in: Type.Boolean(),
      }),
      { type: 'null' },
    ],
  }),
  rules: Type.Array(
    Type.Object({
      id: Type.String(),
      condition: Type.Boolean({ description: 'Whether the condition holds; true without one.' }),
      prerequisites: Type.Array(
        Type.Object({
          decision: Type.String(),
          variants: Type.Array(Type.String()),
          variant: NullableString,
          met: Type.Boolean(),
        }),
      ),
      rollout: BucketView,
      split: NullableBucket,
      variant: Type.Unsafe<string | null>({
        type: ['string', 'null'],
        description: 'The variant of the rule; null when the rule does not apply.',
      }),
      why: Type.String(),
    }),
  ),
  traits: Type.Object({}, { additionalProperties: true }),
  segments: Type.Unsafe<Record<string, boolean>>({
    type: 'object',
    additionalProperties: { type: 'boolean' },
    description: 'Whether the person is in the segments that the rules refer to.',
  }),
  counts: Type.Object({}, { additionalProperties: true }),
})
export type DecisionPreview = Static<typeof Preview>

const Interval = Type.Unsafe<[number, number] | null>({
  type: ['array', 'null'],
  items: { type: 'number' },
  description: 'The 95% confidence interval.',
})
const NullableNumber = (description: string) =>
  Type.Unsafe<number | null>({ type: ['number', 'null'], description })
const VariantStats = Type.Object({
  variant: Type.String(),
  control: Type.Boolean(),
  exposures: Type.Integer({
    description: 'The number of days on which a person got the variant, summed over all people.',
  }),
  people: Type.Integer({ description: 'People who got only this variant.' }),
  converted: Type.Integer({ description: 'Those of them who converted after they first got it.' }),
  conversions: Type.Integer({ description: 'Conversions of these people after that.' }),
  rate: NullableNumber('`converted` of `people`.'),
  rateInterval: Interval,
  lift: NullableNumber('How much higher the rate is than that of the control, as a part of that.'),
  difference: NullableNumber('Rate less the rate of the control.'),
  differenceInterval: Interval,
  pValue: NullableNumber(
    'The probability of a difference at least this large if there is none (two-sided z-test of proportions).',
  ),
})
const Stats = Type.Object({
  key: Type.String(),
  control: Type.String({ description: 'The fallback variant, which the others are compared with.' }),
  mixed: Type.Integer({
    description: 'People who got several variants. They are not part of the comparison.',
  }),
  variants: Type.Array(VariantStats),
})
export type DecisionStats = Static<typeof Stats>

const LiftInterval = (description: string) =>
  Type.Unsafe<[number, number] | null>({ type: ['array', 'null'], items: { type: 'number' }, description })
const Counts = (description: string) =>
  Type.Unsafe<Record<string, number>>({
    type: 'object',
    additionalProperties: { type: 'number' },
    description,
  })
const MetricResult = Type.Object({
  key: Type.String(),
  selectorId: NullableString,
  eventName: NullableString,
  property: NullableString,
  kind: MetricKind,
  goal: MetricGoal,
  guardrail: Type.Boolean(),
  currency: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description:
      'The currency of `value`, which is then in its minor units. Null unless all values are amounts in one currency.',
  }),
  varianceReduction: NullableNumber(
    'The part of the variance that the adjustment by the past of people (CUPED) removed. Null without adjustment.',
  ),
  variants: Type.Array(
    Type.Object({
      variant: Type.String(),
      control: Type.Boolean(),
      people: Type.Integer({ description: 'People who count; for the kind `mean` only those with a value.' }),
      value: NullableNumber('The mean per person; for the kind `count` the share of people.'),
      lift: NullableNumber(
        'The difference from the control as a part of the control, adjusted if `varianceReduction` is set.',
      ),
      interval: LiftInterval(
        'The 95% confidence interval of `lift` for one look at a time that was set before. Null with too few people.',
      ),
      sequentialInterval: LiftInterval(
        'The 95% confidence interval of `lift` that holds at all times, however often it is read.',
      ),
      pValue: NullableNumber('Of the two-sided Welch test, for one look at a time that was set before.'),
      adjustedPValue: NullableNumber(
        'The p-value adjusted for several comparisons (Holm). Null for guardrails.',
      ),
    }),
  ),
  history: Type.Optional(
    Type.Array(
      Type.Object({
        at: Timestamp,
        variants: Type.Array(
          Type.Object({
            variant: Type.String(),
            people: Type.Integer(),
            lift: NullableNumber('As known then.'),
            sequentialInterval: LiftInterval('As known then.'),
          }),
        ),
      }),
      { description: 'The results at 14 times from the first exposure until now, if asked for.' },
    ),
  ),
})
const Results = Type.Object({
  key: Type.String(),
  control: Type.String({
    description: 'The fallback variant if the split has it, else the first variant of the split.',
  }),
  metrics: Type.Array(MetricResult),
  sampleRatio: Type.Object({
    expected: Counts('People by variant, by the weights of the split.'),
    seen: Counts('People by variant, as exposed.'),
    pValue: NullableNumber('Of the chi-squared test; below 0.001 the split is broken.'),
  }),
  warnings: Type.Array(
    Type.Object({
      code: Type.String({
        description:
          '`sample_ratio_mismatch`, `different_splits`, `several_variants`, `too_few_people`, `guardrail_worse`, ' +
          '`several_currencies` or `several_comparisons`.',
      }),
      message: Type.String(),
    }),
  ),
})
export type DecisionResults = Static<typeof Results>

const tag = 'Decisions'
const collection = '/api/projects/{projectId}/decisions'
const one = `${collection}/{key}`
const decision = { description: 'The decision', schema: DecisionView }
const stale = { description: 'The decision was changed by another request', schema: ErrorBody }
const archived = { description: 'The decision is archived', schema: ErrorBody }
const cannotSwitch = {
  description: 'The decision is archived, or a guard has turned it off',
  schema: ErrorBody,
}
const editor = { by: 'project', role: 'editor' } as const
const viewer = { by: 'project', role: 'viewer' } as const

export const createDecision = defineOperation({
  id: 'createDecision',
  method: 'post',
  path: collection,
  tag,
  summary: 'Create a decision',
  description: 'The default status is draft. Each rule gets an id, which determines who gets which variant.',
  access: editor,
  effects: [],
  body: NewDecision,
  answers: { 201: decision },
})

export const listDecisions = defineOperation({
  id: 'listDecisions',
  method: 'get',
  path: collection,
  tag,
  summary: 'List decisions',
  access: viewer,
  query: Type.Object({
    ...pageParameters,
    status: Type.Optional(DecisionStatusSchema),
    owner: equalTo('Of this owner.'),
    tag: equalTo('With this tag.'),
  }),
  answers: { 200: { description: 'A page of decisions, the newest first', schema: pageOf(DecisionView) } },
})

export const getDecision = defineOperation({
  id: 'getDecision',
  method: 'get',
  path: one,
  tag,
  summary: 'Read a decision',
  access: viewer,
  answers: { 200: decision },
})

export const replaceDecision = defineOperation({
  id: 'replaceDecision',
  method: 'put',
  path: one,
  tag,
  summary: 'Replace a decision',
  description:
    'A rule without an id keeps the id of the rule at the same position. Changed weights give people other variants; `warnings` reports it.',
  access: editor,
  effects: [],
  body: DecisionReplacement,
  answers: { 200: decision, 409: archived, 412: stale },
})

export const updateDecision = defineOperation({
  id: 'updateDecision',
  method: 'patch',
  path: one,
  tag,
  summary: 'Update parts of a decision',
  description:
    'Absent fields do not change. Changed weights give people other variants; `warnings` reports it.',
  access: editor,
  effects: [],
  body: DecisionPatch,
  answers: { 200: decision, 409: archived, 412: stale },
})

const inEnvironment = {
  environment: Type.String({
    ...EnvironmentKey,
    default: PRODUCTION,
    description: 'The environment that it is about.',
  }),
}
const statusChange = (id: string, verb: string, summary: string, description: string) =>
  defineOperation({
    id,
    method: 'post',
    path: `${one}/${verb}`,
    tag,
    summary,
    description,
    access: editor,
    effects: [],
    query: Type.Object(inEnvironment),
    answers: { 200: decision, 409: cannotSwitch },
  })
export const activateDecision = statusChange(
  'activateDecision',
  'activate',
  'Have a decision decide',
  'Its rules apply in every process within 5 seconds.',
)
export const pauseDecision = statusChange(
  'pauseDecision',
  'pause',
  'Turn a decision off (kill switch)',
  'Everyone gets the fallback variant with the reason `DISABLED`, in every process within 5 seconds, also while Redis or ' +
    'Kafka does not answer.',
)
export const resumeDecision = defineOperation({
  id: 'resumeDecision',
  method: 'post',
  path: `${one}/resume`,
  tag,
  summary: 'Resume what guards have stopped',
  description:
    'Applies to all rules in the environment. Ramps go on from where they were stopped; a decision that was paused is active ' +
    'again. Guards then count people anew.',
  access: editor,
  effects: [],
  query: Type.Object(inEnvironment),
  body: Type.Object({
    reason: Type.String({
      minLength: 1,
      maxLength: 1_000,
      ...notBlank,
      description: 'Why; kept in the history.',
    }),
  }),
  answers: { 200: decision, 409: { description: 'No guard has stopped it there', schema: ErrorBody } },
})
export const archiveDecision = defineOperation({
  id: 'archiveDecision',
  method: 'post',
  path: `${one}/archive`,
  tag,
  summary: 'Put a decision away for good, in all environments',
  description: 'Refused while code refers to it (`PUT code-references`), unless `force` is true.',
  access: editor,
  effects: [],
  query: Type.Object({
    force: Type.Boolean({ default: false, description: 'Whether to archive it although code refers to it.' }),
  }),
  answers: {
    200: decision,
    409: { description: 'The decision is archived, or code refers to it', schema: ErrorBody },
  },
})

export const getDecisionHistory = defineOperation({
  id: 'getDecisionHistory',
  method: 'get',
  path: `${one}/history`,
  tag,
  summary: 'List the versions of a decision',
  description: `The newest ${MAX_DECISION_VERSIONS} versions are kept.`,
  access: viewer,
  query: PageQuery,
  answers: { 200: { description: 'A page of versions, the newest first', schema: pageOf(DecisionVersion) } },
})

export const getDecisionVersion = defineOperation({
  id: 'getDecisionVersion',
  method: 'get',
  path: `${one}/history/{version}`,
  tag,
  summary: 'Read a version of a decision and what it changed',
  access: viewer,
  answers: { 200: { description: 'The version, compared with the one before', schema: ComparedVersion } },
})

export const restoreDecision = defineOperation({
  id: 'restoreDecision',
  method: 'post',
  path: `${one}/history/{version}/restore`,
  tag,
  summary: 'Restore an earlier version of a decision',
  description: 'Creates a new version with the earlier definition. The status does not change.',
  access: editor,
  effects: [],
  headers: { 'If-Match': 'The `ETag` of the decision: when it is another by now, nothing is done.' },
  answers: {
    200: decision,
    409: archived,
    412: stale,
    422: { description: 'The earlier definition is not valid any more', schema: Unprocessable },
  },
})

export const rollbackDecision = defineOperation({
  id: 'rollbackDecision',
  method: 'post',
  path: `${one}/rollback`,
  tag,
  summary: 'Restore an earlier version, named in the body',
  description: 'The same as `POST history/{version}/restore`.',
  access: editor,
  effects: [],
  body: Type.Object({ version: Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 }) }),
  answers: { 200: decision, 409: archived },
})

const scheduled = `${one}/scheduled-changes`

export const scheduleChange = defineOperation({
  id: 'scheduleChange',
  method: 'post',
  path: scheduled,
  tag,
  summary: 'Schedule a change of a decision',
  description:
    '`change` has the fields of `PATCH` of the decision, and is applied to the decision as it is at that time: fields that ' +
    'it names win over what was changed meanwhile. With `version` it fails if there is a newer one. It must be ' +
    `valid now as well. Up to ${MAX_PENDING_CHANGES} changes of a decision wait for their time.`,
  access: editor,
  effects: [],
  body: NewScheduledChange,
  answers: {
    201: { description: 'The scheduled change', schema: ScheduledChange },
    409: archived,
    412: stale,
  },
})

export const listScheduledChanges = defineOperation({
  id: 'listScheduledChanges',
  method: 'get',
  path: scheduled,
  tag,
  summary: 'List the scheduled changes of a decision',
  description: 'Those that wait, and the last 200 that do not any more.',
  access: viewer,
  query: Type.Object({ ...pageParameters, status: Type.Optional(ChangeStatus) }),
  answers: { 200: { description: 'A page of changes, the newest first', schema: pageOf(ScheduledChange) } },
})

export const cancelScheduledChange = defineOperation({
  id: 'cancelScheduledChange',
  method: 'delete',
  path: `${scheduled}/{id}`,
  tag,
  summary: 'Cancel a scheduled change',
  access: editor,
  effects: [],
  answers: {
    204: { description: 'Cancelled' },
    409: { description: 'It does not wait any more', schema: ErrorBody },
  },
})

export const previewDecision = defineOperation({
  id: 'previewDecision',
  method: 'post',
  readOnly: true,
  path: `${one}/preview`,
  tag,
  summary: 'Preview decisions for a person, with reasons',
  description: 'It records no exposure, counts no frequency cap and assigns no coupon.',
  access: viewer,
  body: PreviewRequest,
  answers: { 200: { description: 'Each step of the decision', schema: Preview } },
})

export const getDecisionStats = defineOperation({
  id: 'getDecisionStats',
  takesLong: true,
  method: 'get',
  path: `${one}/stats`,
  tag,
  summary: 'Count exposures and conversions by variant',
  access: viewer,
  query: Type.Object({
    selectorId: Type.Optional(
      Type.String({ format: 'uuid', description: 'Only conversions by this metering selector.' }),
    ),
    ...inEnvironment,
  }),
  answers: { 200: { description: 'The variants, the control first', schema: Stats } },
})

export const getDecisionResults = defineOperation({
  id: 'getDecisionResults',
  takesLong: true,
  method: 'get',
  path: `${one}/results`,
  tag,
  summary: 'Compare the variants of a split by the metrics',
  description:
    'Each person who was given a variant by a split counts once, for the first one, with what happened from then on. ' +
    'See docs/experiments.md for the statistics.',
  access: viewer,
  query: Type.Object({
    history: Type.Boolean({ default: false, description: 'Whether to add the results at earlier times.' }),
    ...inEnvironment,
  }),
  answers: {
    200: { description: 'The variants of each metric, the control first', schema: Results },
    429: { description: 'The maximum number of results is being computed', schema: RetryAfterSeconds },
  },
})

export const decisionOperations = [
  createDecision,
  listDecisions,
  getDecision,
  replaceDecision,
  updateDecision,
  activateDecision,
  pauseDecision,
  resumeDecision,
  archiveDecision,
  getDecisionHistory,
  getDecisionVersion,
  restoreDecision,
  rollbackDecision,
  scheduleChange,
  listScheduledChanges,
  cancelScheduledChange,
  previewDecision,
  getDecisionStats,
  getDecisionResults,
]
