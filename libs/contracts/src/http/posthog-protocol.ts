import { type Static, Type } from 'typebox'
import { ErrorBody, RetryAfter } from './error-bodies.ts'
import { defineOperation } from './operation.ts'

const tag = 'PostHog-compatible API'

const Anything = Type.Unsafe<unknown>({})
const field = (description: string) => Type.Optional(Type.Unsafe<unknown>({ description }))

const KEYS =
  'For the SDKs of PostHog. The key is `api_key` or `token` in the body, as the SDKs send it, or in one of the headers of ' +
  'the other endpoints. The body is parsed as JSON for any `Content-Type`; it may be gzip, or a form whose field `data` ' +
  'is base64.'

/** The fields of a message that are read. All may have any value: one that is not valid goes to the quarantine. */
const messageFields = {
  event: field('What happened. `$pageview` becomes `page_view`, `$screen` `screen_view`.'),
  uuid: field('Becomes the id of the event. A repeat is stored once.'),
  distinct_id: field('The user, or the visitor before `$identify`. Also taken in `properties`.'),
  properties: field('Names that begin with `$` are of the SDK.'),
  $set: field('Traits of the person.'),
  $set_once: field('Traits that the person gets unless it has them.'),
  timestamp: field('When it happened by the client’s clock.'),
  api_key: field('The API key.'),
}

export const postHogCapture = defineOperation({
  id: 'postHogCapture',
  method: 'post',
  path: '/capture',
  tag,
  summary: 'Send events of PostHog’s SDKs',
  description:
    `Also as \`/e\`, \`/i/v0/e\` and, for bodies with an \`api_key\`, as \`/batch\`. ${KEYS} An invalid message is added to ` +
    'the rejected events of the project. The others are accepted.',
  access: { by: 'key', scope: 'events:write' },
  forPrograms: true,
  limited: true,
  body: Type.Unsafe<unknown>(
    Type.Object(
      {
        ...messageFields,
        batch: field('Several messages instead of one, 500 KiB at most.'),
        sent_at: field('When it was sent by the client’s clock; corrects a clock that is off by over 5 s.'),
        historical_migration: field('True for messages of the past.'),
      },
      {
        additionalProperties: true,
        description: 'A message, or a batch. A list of messages is a batch, too.',
      },
    ),
  ),
  answers: {
    200: {
      description: 'All messages are durable, or in the quarantine',
      schema: Type.Object({ status: Type.Literal(1) }),
    },
    415: { description: 'The `Content-Encoding` is not supported', schema: ErrorBody },
  },
})

export const postHogConfig = defineOperation({
  id: 'postHogConfig',
  method: 'get',
  path: '/array/{key}/config',
  tag,
  summary: 'Read the settings that PostHog’s browser SDK asks for',
  description:
    'The settings turn session recordings, surveys and heatmaps off. Only for keys of kind `pub`, because it is in the URL.',
  access: { by: 'anyone' },
  answers: {
    200: {
      description: 'The settings',
      schema: Type.Object({}, { additionalProperties: true }),
    },
    401: { description: 'The key is not valid', schema: ErrorBody },
    403: {
      description: 'The key lacks the scope `events:write`, or may not be used from this page',
      schema: ErrorBody,
    },
    503: { description: 'A store does not answer; repeat later', schema: ErrorBody },
  },
})

const FlagsRequest = Type.Unsafe<unknown>(
  Type.Object(
    {
      token: field('The API key; `api_key` means the same.'),
      distinct_id: field('The visitor or user.'),
      $anon_distinct_id: field('The visitor that the user was before `$identify`.'),
      person_properties: field('What conditions find below `context`.'),
      flag_keys_to_evaluate: field('Keys of decisions. Default: all that are active or paused.'),
    },
    { additionalProperties: true },
  ),
)

const PostHogFlag = Type.Object({
  key: Type.String(),
  enabled: Type.Boolean({
    description: 'False for the value `false`, without a variant, and while it is paused.',
  }),
  variant: Type.Optional(Type.String({ description: 'The variant, unless its value is true or false.' })),
  reason: Type.Object({ code: Type.String(), description: Type.String() }),
  metadata: Type.Object({
    payload: Type.Optional(
      Type.String({ description: 'The value of the variant as JSON, unless it is true or false.' }),
    ),
  }),
})
export type PostHogFlag = Static<typeof PostHogFlag>

const flags = (id: string, path: string, more: string) =>
  defineOperation({
    id,
    method: 'post',
    path,
    tag,
    summary: 'Evaluate flags for PostHog’s SDKs',
    description: `${more} It counts no exposures and neither counts nor holds frequency caps. ${KEYS}`,
    access: { by: 'key', scope: 'decide' },
    forPrograms: true,
    limited: true,
    query: Type.Object({ v: Type.Optional(Type.String({ description: 'The version of the answer.' })) }),
    body: FlagsRequest,
    answers: {
      200: {
        description: 'The flags',
        schema: Type.Object({
          flags: Type.Optional(Type.Record(Type.String(), PostHogFlag)),
          featureFlags: Type.Optional(Type.Record(Type.String(), Anything)),
          featureFlagPayloads: Type.Optional(Type.Record(Type.String(), Type.String())),
          errorsWhileComputingFlags: Type.Boolean(),
          requestId: Type.String(),
          evaluatedAt: Type.Integer({ description: 'In ms since 1970.' }),
        }),
      },
      400: { description: 'The body is not valid JSON, or has no `distinct_id`', schema: ErrorBody },
      415: { description: 'The `Content-Encoding` is not supported', schema: ErrorBody },
      503: { description: 'The configuration of the project cannot be read', schema: RetryAfter },
    },
  })

export const postHogFlags = flags(
  'postHogFlags',
  '/flags',
  'With `v` 2 or more the answer has `flags`, else `featureFlags` and `featureFlagPayloads`.',
)
export const postHogDecide = flags(
  'postHogDecide',
  '/decide',
  'For older SDKs. With `v` 4 the answer has `flags`, else `featureFlags` and `featureFlagPayloads`.',
)

/** The operations of PostHog's protocol. */
export const postHogOperations = [postHogCapture, postHogConfig, postHogFlags, postHogDecide]
