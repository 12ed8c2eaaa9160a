import { type Static, type TUnsafe, Type } from 'typebox'
import { FIRST_EPOCH_TIME, LAST_EPOCH_TIME } from '../client-time.ts'
import { DecisionKey } from '../decision-definition.ts'
import { NOT_BLANK, NullableString, Timestamp } from '../schema-parts.ts'
import { compileValidator } from '../validator.ts'
import { BeaconQuery } from './beacon-query.ts'
import { ErrorBody, RetryAfter } from './error-bodies.ts'
import { optionalId } from './identify.ts'
import { defineOperation } from './operation.ts'

/** Maximum size of a request after decompression, in bytes. */
export const MAX_DECIDE_BODY_BYTES = 64 * 1024
/** Maximum nesting of a context. The context object itself is level 1. */
export const MAX_CONTEXT_DEPTH = 10

/** The reasons of results. */
export const decisionReasons = [
  'SPLIT',
  'TARGETING_MATCH',
  'DEFAULT',
  'HOLDOUT',
  'CAPPED',
  'DISABLED',
  'ERROR',
] as const
export type DecisionReason = (typeof decisionReasons)[number]

/** The context of a request. Conditions read it below `context`. */
export const DecisionContext: TUnsafe<Record<string, unknown>> = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  description: 'The data that conditions read as `context`.',
})

const DecideRequest = Type.Object(
  {
    visitorId: optionalId('The visitor to decide for.'),
    userId: optionalId('The user to decide for; known ones come before the visitor.'),
    keys: Type.Optional(
      Type.Unsafe<string[] | null>({
        type: ['array', 'null'],
        items: { type: 'string', minLength: 1, maxLength: 200, ...NOT_BLANK },
        maxItems: 100,
        description: 'The keys of the decisions. Default: all active decisions.',
      }),
    ),
    context: Type.Optional(Type.Unsafe<Record<string, unknown> | null>({ type: ['object', 'null'] })),
  },
  { additionalProperties: false, description: 'At least one id is required.' },
)
export type DecideRequest = Static<typeof DecideRequest>
export const decideRequest = compileValidator(DecideRequest)

const AssignedCoupon = Type.Object({
  code: Type.String(),
  expiresAt: Type.Optional(NullableString),
})

const Decided = Type.Object({
  key: Type.String(),
  variant: NullableString,
  value: Type.Unknown(),
  reason: Type.Unsafe<DecisionReason>({ type: 'string', enum: [...decisionReasons] }),
  ruleId: NullableString,
  decisionId: NullableString,
  coupon: Type.Optional(
    Type.Unsafe<Static<typeof AssignedCoupon> | null>({
      anyOf: [AssignedCoupon, { type: 'null' }],
      description:
        'The code of the person when the variant has a coupon pool; null when no coupon is available.',
    }),
  ),
  couponReason: Type.Optional(Type.String({ description: 'Why there is no coupon.' })),
})
export type Decided = Static<typeof Decided>

const DecideResult = Type.Object({
  decisions: Type.Array(Decided),
  evaluatedAt: Timestamp,
  degraded: Type.Optional(
    Type.Literal(true, {
      description:
        'Some data could not be read in time: traits and counts were treated as empty or may be outdated, ' +
        'frequency caps were counted per process, or an accepted identify of the person is not applied yet.',
    }),
  ),
})
export type DecideResult = Static<typeof DecideResult>

export const decide = defineOperation({
  id: 'decide',
  method: 'post',
  path: '/api/v1/decide',
  tag: 'Decisions',
  summary: 'Decide which variants a person gets',
  description:
    'A person keeps a variant while the rules that assigned it do not change, also after signing in. A person' +
    ' who gets a variant from a rule counts as exposed. An unknown key gets the reason `ERROR`.',
  access: { by: 'key', scope: 'decide' },
  forPrograms: true,
  limited: true,
  body: DecideRequest,
  answers: {
    200: { description: 'A decision for each key, in the order of the keys', schema: DecideResult },
    400: {
      description: 'The body is not JSON or has an unknown field, or no exposure is valid',
      schema: ErrorBody,
    },
    503: { description: 'The configuration of the project cannot be read', schema: RetryAfter },
  },
})

/** Unknown members are allowed, because newer versions of OFREP may add some. */
const OPEN =
  'Members and query parameters beyond these are ignored, as the protocol lets its clients send more.'

const EvaluationRequest = Type.Object(
  {
    context: Type.Optional(
      Type.Unsafe<Record<string, unknown> | null>({
        type: ['object', 'null'],
        description:
          '`targetingKey` is the visitor, `userId` the user. All of it is what conditions find below `context`.',
      }),
    ),
  },
  { additionalProperties: true },
)
/** A flag in the OpenFeature Remote Evaluation Protocol. */
const EvaluatedFlag = Type.Object({
  key: Type.String(),
  value: Type.Optional(Type.Unknown()),
  variant: Type.Optional(Type.String()),
  reason: Type.String(),
  metadata: Type.Object({}, { additionalProperties: true }),
})
export type EvaluatedFlag = Static<typeof EvaluatedFlag>
const EvaluationFailure = Type.Object({
  error: Type.String(),
  key: Type.Optional(DecisionKey),
  errorCode: Type.String({
    description: '`PARSE_ERROR`, `INVALID_CONTEXT`, `TARGETING_KEY_MISSING`, `FLAG_NOT_FOUND` or `GENERAL`.',
  }),
  errorDetails: Type.String(),
})

export const evaluateFlag = defineOperation({
  id: 'evaluateFlag',
  method: 'post',
  path: '/ofrep/v1/evaluate/flags/{key}',
  tag: 'OpenFeature',
  summary: 'Evaluate one flag (OFREP)',
  description: `The same as deciding for that one key: exposure and frequency cap count. ${OPEN}`,
  access: { by: 'key', scope: 'decide' },
  limited: true,
  body: EvaluationRequest,
  answers: {
    200: { description: 'The flag', schema: EvaluatedFlag },
    400: { description: 'The context is not valid', schema: EvaluationFailure },
    404: {
      description: '`FLAG_NOT_FOUND`: the decision does not exist, or is a draft or archived',
      schema: EvaluationFailure,
    },
  },
})

const EventStream = Type.Object({
  type: Type.Literal('sse'),
  endpoint: Type.Object({
    requestUri: Type.String({ description: 'Path and query, on the host of this request.' }),
  }),
  inactivityDelaySec: Type.Integer({
    description:
      'After so many seconds in the background, a client closes the stream until it is used again.',
  }),
})
export type EventStream = Static<typeof EventStream>

export const evaluateFlags = defineOperation({
  id: 'evaluateFlags',
  method: 'post',
  path: '/ofrep/v1/evaluate/flags',
  tag: 'OpenFeature',
  summary: 'Evaluate all flags (OFREP)',
  description:
    'What a client keeps to answer from: it counts no exposures and neither counts nor holds frequency caps. When a ' +
    'person sees a variant, report it to `/api/v1/exposures` with the `ruleId` of the metadata. ' +
    'Drafts and archived decisions are left out. `flagConfigEtag` in the query, from an event of `eventStreams`, has ' +
    `the answer be at least as new as that event. ${OPEN}`,
  access: { by: 'key', scope: 'decide' },
  limited: true,
  headers: { 'If-None-Match': 'The `ETag` of an earlier answer.' },
  body: EvaluationRequest,
  answers: {
    200: {
      description: 'The flags, with an `ETag`',
      schema: Type.Object({
        flags: Type.Array(EvaluatedFlag),
        eventStreams: Type.Optional(
          Type.Array(EventStream, {
            description:
              'Where to hear of changes. Only with a key of kind `pub`, because the address contains it.',
          }),
        ),
      }),
    },
    304: { description: 'Not modified' },
    400: { description: 'The context is not valid', schema: EvaluationFailure },
  },
})

/** The path of the stream of changed flags. */
export const FLAG_STREAM_PATH = '/ofrep/v1/event-stream'

export const streamFlagChanges = defineOperation({
  id: 'streamFlagChanges',
  method: 'get',
  path: FLAG_STREAM_PATH,
  tag: 'OpenFeature',
  summary: 'Follow changes of flags (OFREP)',
  description:
    'An endless stream of server-sent events, whose address is in `eventStreams` of a bulk evaluation with a `pub` key. ' +
    'The event `{ "type": "refetchEvaluation", "etag", "lastModified" }` says that the flags of the project have changed, ' +
    'within 2 s: evaluate them again, with `flagConfigEtag` and `flagConfigLastModified` in the query. The `id` of an ' +
    'event stands for a state of the flags. A client that reconnects with `Last-Event-ID` is sent at once what it missed. ' +
    'Silent streams get comments. Beyond the maximum of a project the answer is 429, and beyond that of the process 503: ' +
    'poll with `If-None-Match` then.',
  access: { by: 'key', scope: 'decide' },
  forPrograms: true,
  limited: true,
  headers: { 'Last-Event-ID': 'The `id` of the last event. Browsers send it when they reconnect.' },
  query: Type.Object({
    apiKey: Type.Optional(
      Type.String({
        description:
          'A key of kind `pub`, for browsers, which cannot set headers here. Others need the header.',
      }),
    ),
  }),
  answers: {
    200: { description: 'The stream', contentTypes: ['text/event-stream'] },
    400: { description: 'A query parameter is not known', schema: ErrorBody },
  },
})

const FlagDefinitions = Type.Object({
  flags: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: Type.Object({
      state: Type.Unsafe<'ENABLED'>({ type: 'string', enum: ['ENABLED'] }),
      variants: Type.Object({}, { additionalProperties: true }),
      defaultVariant: Type.String(),
      targeting: Type.Optional(Type.Object({}, { additionalProperties: true })),
      metadata: Type.Object({ decisionId: Type.String(), version: Type.Integer() }),
    }),
  }),
  metadata: Type.Object({ scope: Type.String({ description: 'The environment.' }) }),
})

/** The local decisions in the format of flagd. */
export const getFlagDefinitions = defineOperation({
  id: 'getFlagDefinitions',
  method: 'get',
  path: '/api/v1/decide/flagd',
  tag: 'OpenFeature',
  summary: 'Flag definitions (flagd)',
  description:
    'The active and paused decisions that flagd’s providers evaluate locally (`local` of a decision), in the environment of ' +
    'the key and in the format of flagd. For its sync source `http`, which polls it. Only for keys of kind `sec`, because ' +
    'rules may name people. Providers get the same over gRPC (`flagd.sync.v1`), and changes at once.',
  access: { by: 'key', scope: 'decide' },
  forPrograms: true,
  limited: true,
  headers: { 'If-None-Match': 'The `ETag` of an earlier answer.' },
  answers: {
    200: { description: 'The definitions, with an `ETag`', schema: FlagDefinitions },
    304: { description: 'Not modified' },
  },
})

/** Maximum number of exposures in a request. */
export const MAX_REPORTED_EXPOSURES = 100
/** How old a reported exposure may be, in ms. */
export const MAX_EXPOSURE_AGE_MS = 7 * 24 * 60 * 60 * 1_000

const ReportedExposure = Type.Object(
  {
    key: DecisionKey,
    variant: DecisionKey,
    ruleId: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        maxLength: 100,
        description:
          'The rule that gave the variant: `ruleId` of a decision or of the metadata of a flag. Default: the first ' +
          'rule that can give it.',
      }),
    ),
    targeted: Type.Optional(
      Type.Unsafe<boolean | null>({
        type: ['boolean', 'null'],
        description:
          'Whether a rule targets the person: the reason `TARGETING_MATCH` of flagd’s providers. For a decision with ' +
          '`bucketing`, the person’s buckets then say which rule gave the variant, or that a rollout or the holdout left the ' +
          'person with the fallback variant.',
      }),
    ),
    visitorId: optionalId('The visitor who saw it. Either this or `userId` is required.'),
    userId: optionalId('The user who saw it. Comes before `visitorId`.'),
    at: Type.Optional(
      Type.Unsafe<string | number | null>({
        type: ['string', 'number', 'null'],
        minimum: FIRST_EPOCH_TIME,
        maximum: LAST_EPOCH_TIME,
        description:
          'When it was seen, at most 7 days ago, in the forms of `clientTimestamp`. Default, and latest: now.',
      }),
    ),
  },
  { additionalProperties: false },
)
const ExposuresRequest = Type.Object(
  { exposures: Type.Array(ReportedExposure, { minItems: 1, maxItems: MAX_REPORTED_EXPOSURES }) },
  { additionalProperties: false },
)
export type ReportedExposure = Static<typeof ReportedExposure>
export const reportedExposure = compileValidator(ReportedExposure)
/** A report whose members are not checked yet, because a wrong one must not lose the others. */
export const exposuresRequest = compileValidator(
  Type.Object(
    { exposures: Type.Array(Type.Unknown(), { minItems: 1, maxItems: MAX_REPORTED_EXPOSURES }) },
    { additionalProperties: false },
  ),
)

const ReportedExposures = Type.Object({
  accepted: Type.Integer(),
  ignored: Type.Array(
    Type.Object({
      index: Type.Integer({ description: 'The place in `exposures`, from 0.' }),
      reason: Type.String(),
    }),
    {
      description:
        'Exposures that do not count, also those that are not valid. Sending them again does not help.',
    },
  ),
})
export type ReportedExposures = Static<typeof ReportedExposures>

export const reportExposures = defineOperation({
  id: 'reportExposures',
  method: 'post',
  path: '/api/v1/exposures',
  tag: 'Decisions',
  summary: 'Report variants that people saw',
  description:
    'For clients that keep decisions, such as those of bulk evaluation. Deciding for a person and single evaluation ' +
    'record exposures themselves. Repeats do no harm: the first exposure of a person counts. Pages may send them like ' +
    'events: see `POST /api/v1/t`.',
  access: { by: 'key', scope: 'decide' },
  forPrograms: true,
  limited: true,
  query: BeaconQuery,
  body: ExposuresRequest,
  answers: {
    202: { description: 'How many count', schema: ReportedExposures },
    400: {
      description: 'The body is not JSON, has no id, or has a field that is unknown or of the wrong type',
      schema: ErrorBody,
    },
    503: { description: 'Too many exposures are waiting to be stored', schema: RetryAfter },
  },
})

export const decideOperations = [
  decide,
  evaluateFlag,
  evaluateFlags,
  streamFlagChanges,
  getFlagDefinitions,
  reportExposures,
]
