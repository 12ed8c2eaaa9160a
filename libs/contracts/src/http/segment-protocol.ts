import { Type } from 'typebox'
import { ErrorBody } from './error-bodies.ts'
import { defineOperation } from './operation.ts'

/** Maximum size of a request of Segment's protocol after decompression, in bytes. */
export const MAX_SEGMENT_BODY_BYTES = 500 * 1024

const tag = 'Segment-compatible ingestion'

const Anything = Type.Unsafe<unknown>({})
const text = (description: string) => Type.Optional(Type.Unsafe<unknown>({ description }))

/** The fields of a message that are read. All may have any value: one that is not valid goes to the quarantine. */
const messageFields = {
  type: text(
    'In a batch: `track`, `page`, `screen`, `identify`, `group` or `alias`. Otherwise the path determines it.',
  ),
  messageId: text('Becomes the id of the event. A repeat is stored once.'),
  anonymousId: text('The visitor.'),
  userId: text('The user.'),
  event: text('Of `track`: what happened.'),
  name: text('Of `page` and `screen`.'),
  category: text('Of `page` and `screen`.'),
  properties: text('Of `track`, `page` and `screen`.'),
  traits: text('Of `identify` and `group`.'),
  groupId: text('Of `group`.'),
  previousId: text('Of `alias`: the visitor who turned out to be the user.'),
  context: text(
    '`page`, `campaign`, `userAgent`, `ip`, `locale`, `sessionId`, and `userHash` for projects that verify ' +
      'identities. Other fields are ignored.',
  ),
  timestamp: text(
    'When it happened by the client’s clock, in the forms of `clientTimestamp`; `originalTimestamp` means the same.',
  ),
  sentAt: text('When it was sent by the client’s clock; corrects a clock that is off by over 5 s.'),
  writeKey: text('The API key, where there is no header.'),
}
const Message = Type.Unsafe<unknown>(
  Type.Object(messageFields, { additionalProperties: true, description: 'A message of Segment’s protocol.' }),
)
const Batch = Type.Unsafe<unknown>(
  Type.Object(
    {
      batch: Type.Optional(Type.Unsafe<unknown>({ description: 'Messages, at most 32 KiB each.' })),
      context: Type.Optional(Anything),
      sentAt: messageFields.sentAt,
      writeKey: messageFields.writeKey,
    },
    { additionalProperties: true, description: 'Any number of messages, 500 KiB at most.' },
  ),
)

const Query = Type.Object({
  writeKey: Type.Optional(
    Type.String({
      description: 'The API key. URLs are logged by proxies: prefer a header or the body where you can.',
    }),
  ),
})

const Success = Type.Object({ success: Type.Literal(true) })

const KEYS =
  'For the SDKs of Segment and RudderStack. The key is the user name of HTTP Basic, a bearer token, ' +
  '`X-API-Key`, or `writeKey` in the body or, for keys of kind `pub`, in the query. The body is parsed as JSON for any ' +
  '`Content-Type`.'

const call = (
  name: string,
  summary: string,
  { body = Message, short, more = '' }: { body?: typeof Message; short?: string; more?: string },
) =>
  defineOperation({
    id: `segment${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    method: 'post',
    path: `/v1/${name}`,
    tag,
    summary,
    description: [
      more,
      `Also as \`/${name}\`${short ? ` and \`/v1/${short}\`` : ''}. ${KEYS}`,
      'An invalid message is added to the rejected events of the project. The others are accepted.',
    ]
      .filter(Boolean)
      .join('\n\n'),
    access: { by: 'key', scope: 'events:write' },
    forPrograms: true,
    limited: true,
    query: Query,
    body,
    answers: {
      200: { description: 'All messages are durable, or in the quarantine', schema: Success },
      415: { description: 'The `Content-Encoding` is not supported', schema: ErrorBody },
    },
  })

export const segmentBatch = call('batch', 'Send a batch of messages', {
  body: Batch,
  short: 'b',
  more: 'RudderStack’s browser SDK sends beacons to `/beacon/v1/batch`.',
})
export const segmentTrack = call('track', 'Store an event', { short: 't' })
export const segmentIdentify = call('identify', 'Link a visitor to a user, and write traits', {
  short: 'i',
  more: 'Stores an event only where the setting `identifyEvents` of the project is true.',
})
export const segmentPage = call('page', 'Store an event page_view', { short: 'p' })
export const segmentScreen = call('screen', 'Store an event screen_view', { short: 's' })
export const segmentGroup = call('group', 'Write the trait of a group, and store an event group', {
  short: 'g',
  more: 'The trait is `groups.<groupId>`.',
})
export const segmentAlias = call('alias', 'Link a visitor to a user', { short: 'a' })
export const segmentImport = call('import', 'Send a batch of messages of the past', {
  body: Batch,
  more:
    'Their events fire no email and no webhook, their times are not corrected by `sentAt`, a message whose time cannot be ' +
    'read is refused, and traits do not replace those that were true later, unless the `sentAt` of ' +
    'the batch is within 10 minutes of now and no message is over 24 hours old.',
})

export const segmentSettings = defineOperation({
  id: 'segmentSettings',
  method: 'get',
  path: '/v1/projects/{writeKey}/settings',
  tag,
  summary: 'Read the settings that the browser SDK of Segment asks its CDN for',
  description:
    'The settings make the SDK send to this host. Only for keys of kind `pub`, because it is in the URL.',
  access: { by: 'anyone' },
  answers: {
    200: {
      description: 'The settings',
      schema: Type.Object({
        integrations: Type.Object({
          'Segment.io': Type.Object({
            apiKey: Type.String(),
            apiHost: Type.String(),
            protocol: Type.String(),
          }),
        }),
        plan: Anything,
        metrics: Anything,
      }),
    },
    401: { description: 'The key is not valid', schema: ErrorBody },
    403: {
      description: 'The key lacks the scope `events:write`, or may not be used from this page',
      schema: ErrorBody,
    },
    503: { description: 'A store does not answer; repeat later', schema: ErrorBody },
  },
})

export const rudderSourceConfig = defineOperation({
  id: 'rudderSourceConfig',
  method: 'get',
  path: '/sourceConfig',
  tag,
  summary: 'Read the source configuration that the SDKs of RudderStack for browsers and apps ask for',
  description:
    'It names no destination, so the SDK sends all calls to its data plane: this host. The key is the user name of HTTP ' +
    'Basic, as the SDKs send it, a bearer token, `X-API-Key`, or `writeKey` in the query for keys of kind `pub`; other parameters are ' +
    'ignored.',
  access: { by: 'anyone' },
  forPrograms: true,
  query: Query,
  answers: {
    200: {
      description: 'The configuration',
      schema: Type.Object({
        source: Type.Object({
          id: Type.String(),
          name: Type.String(),
          writeKey: Type.String(),
          enabled: Type.Boolean(),
          config: Anything,
          destinations: Type.Array(Anything),
        }),
      }),
    },
    401: { description: 'The key is not valid', schema: ErrorBody },
    403: {
      description: 'The key lacks the scope `events:write`, or may not be used from this page',
      schema: ErrorBody,
    },
    503: { description: 'A store does not answer; repeat later', schema: ErrorBody },
  },
})

/** The operations of Segment's protocol. */
export const segmentOperations = [
  segmentBatch,
  segmentTrack,
  segmentIdentify,
  segmentPage,
  segmentScreen,
  segmentGroup,
  segmentAlias,
  segmentImport,
  segmentSettings,
  rudderSourceConfig,
]
