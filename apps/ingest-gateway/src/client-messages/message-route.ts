import { AppError } from '@waymark/contracts/app-error'
import type { Operation } from '@waymark/contracts/http/operation'
import { MAX_SEGMENT_BODY_BYTES } from '@waymark/contracts/http/segment-protocol'
import {
  allowApiKey,
  allowKeyInBody,
  chargeProject,
  extendDeadline,
  guardedRoute,
  type HttpRequest,
  type JsonBody,
  type KeyCall,
  keyInHeaders,
  type LimitRequests,
  type Platform,
  queryOf,
  type Route,
  readJsonBody,
} from '@waymark/service-kit'
import type { createLimits } from '../limits.ts'
import { intakeOptions, senderOf } from '../track-routes.ts'
import type { createCollectMessages, MessageRequest } from './collect-messages.ts'

/** What routes of messages of other protocols need. */
export type MessageDeps = {
  apiKeys: Platform['apiKeys']
  limitRequests: LimitRequests
  limitPeople: ReturnType<typeof createLimits>['people']
  collectMessages: ReturnType<typeof createCollectMessages>
}

type MessageProtocol = {
  /** The messages of a body. */
  messagesOf: (body: JsonBody) => MessageRequest
  /** The key in a body, where it is in no header and not in the query. */
  keyIn: (body: unknown) => string | undefined
  /** The answer when all messages are durable. */
  success: object
  /** Whether bodies may be compressed or encoded without a header that says so; see `JsonBodyOptions`. */
  unlabelled?: boolean
}

/** How much each change of a person extends the deadline, in ms. */
const MS_PER_PERSON_CHANGE = 5
/** How much they extend it at most, in ms: the SDKs end a request after 10 s, and repeat it. */
const MAX_PERSON_CHANGES_MS = 4_500

/** How much changes of people extend the deadline of a request, in ms. */
export const personChangesMs = (count: number): number =>
  Math.min(count * MS_PER_PERSON_CHANGE, MAX_PERSON_CHANGES_MS)

/** A route for messages of another protocol: 200 when they are durable. */
export const messageRoute = (
  operation: Operation,
  { apiKeys, limitRequests, limitPeople, collectMessages }: MessageDeps,
  { messagesOf, keyIn, success, unlabelled = false }: MessageProtocol,
): Route => {
  const readBody = (request: HttpRequest): Promise<JsonBody> =>
    readJsonBody(request, MAX_SEGMENT_BODY_BYTES, { numbers: 'any', anyType: true, unlabelled })

  /**
   * The key of a request: the user name of HTTP Basic, the headers of all other endpoints, or `writeKey` in the query,
   * where only keys of kind `pub` are allowed, or the body.
   * @throws AppError unauthorized, forbidden, or payload_too_large for a body that is read for its key
   */
  const allowSender = async (request: HttpRequest): Promise<Sender> => {
    const inHeaders = keyInAnyHeader(request)
    if (inHeaders) return { apiKey: await allowApiKey(apiKeys, EVENTS_SCOPE, request, inHeaders) }
    const inQuery = keyInQuery(request)
    if (inQuery) return { apiKey: requirePublic(await allowApiKey(apiKeys, EVENTS_SCOPE, request, inQuery)) }
    return allowKeyInBody(apiKeys, EVENTS_SCOPE, request, { read: readBody, keyIn })
  }

  /** The key that a sender was allowed with. */
  const keyOf = (request: HttpRequest, { body }: Sender): string =>
    keyInAnyHeader(request) ?? keyInQuery(request) ?? keyIn(body?.value) ?? ''

  return guardedRoute<Sender, JsonBody>(
    operation,
    async (request) => {
      const sender = await allowSender(request)
      chargeProject(sender.apiKey, 'general')
      await limitRequests(sender.apiKey, request)
      return sender
    },
    async (request, { apiKey }, body) => {
      const from = {
        ...senderOf(apiKey, request),
        keyKind: apiKey.kind,
        environment: apiKey.environment,
        isBrowser: request.headers.origin !== undefined,
      }
      await collectMessages(messagesOf(body), from, {
        ...intakeOptions(request, body),
        limitPeople: (changes) => limitPeople(apiKey, request, changes),
        onPersonChanges: (count) => extendDeadline(request, personChangesMs(count)),
      })
      return { body: success }
    },
    {
      read: (request, { body }) => (body ? Promise.resolve(body) : readBody(request)),
      allowAgain: async (request, sender) => ({
        ...sender,
        apiKey: await allowApiKey(apiKeys, EVENTS_SCOPE, request, keyOf(request, sender)),
      }),
    },
  )
}

/** A valid key, and the body if it was read to find the key. */
type ApiKey = KeyCall['apiKey']
type Sender = { apiKey: ApiKey; body?: JsonBody }

/** The scope that a key needs to send messages. */
export const EVENTS_SCOPE = 'events:write'
const KEY_NAME = 'writeKey'

/** The key in the user name of HTTP Basic, else in the headers of all other endpoints. */
export const keyInAnyHeader = (request: HttpRequest): string | undefined =>
  basicUser(request) ?? keyInHeaders(request)

export const keyInQuery = ({ url }: HttpRequest): string | undefined =>
  queryOf(url)?.get(KEY_NAME) ?? undefined

/** Refuses a secret key in a URL, which proxies and browsers log. @throws AppError forbidden */
export const requirePublic = (apiKey: ApiKey): ApiKey => {
  if (apiKey.kind === 'pub') return apiKey
  throw new AppError(
    'forbidden',
    'A key of kind sec is not taken in a URL, which proxies log: send it as the user name of HTTP Basic, as X-API-Key ' +
      'or as Authorization: Bearer, and rotate this one',
  )
}

/** Checks a key that a browser asks the settings of its SDK with. While no store knows it, they are answered. */
export const allowUnlessUnknown = async (
  apiKeys: Platform['apiKeys'],
  request: HttpRequest,
  key: string,
  { inUrl }: { inUrl: boolean },
): Promise<void> => {
  try {
    const apiKey = await allowApiKey(apiKeys, EVENTS_SCOPE, request, key)
    if (inUrl) requirePublic(apiKey)
  } catch (error) {
    // Without its settings, the SDK of a page sends nothing at all.
    if (!(error instanceof AppError) || error.code !== 'store_unavailable') throw error
  }
}

const BASIC = /^Basic +([\w+/=-]+)$/i

const basicUser = ({ headers }: HttpRequest): string | undefined => {
  const encoded = BASIC.exec(headers.authorization ?? '')?.[1]
  if (encoded === undefined) return undefined
  const [user] = Buffer.from(encoded, 'base64').toString('latin1').split(':', 1)
  return user === '' ? undefined : user
}
