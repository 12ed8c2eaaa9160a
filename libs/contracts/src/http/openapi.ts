import type { TSchema } from 'typebox'
import { openObjects } from './close-objects.ts'
import { conditionalEffects, constantEffects } from './effects.ts'
import { ErrorBody, Forbidden, RetryAfter, RetryAfterSeconds, Unprocessable } from './error-bodies.ts'
import {
  type Access,
  type Answer,
  keyScopeOf,
  MAX_BODY_PART_VALUES,
  MAX_BODY_VALUES,
  missingCredentials,
  type Operation,
  type RequestPart,
} from './operation.ts'
import { queryExamples, requestExamples } from './request-examples.ts'
import { LOCAL_SESSION_COOKIE, SESSION_COOKIE } from './session-cookie.ts'

type JsonObject = Record<string, unknown>
/** An OpenAPI document, ready for JSON. */
type OpenApiDocument = JsonObject & { paths: Record<string, Record<string, JsonObject>> }

/**
 * All responses of an operation: its own, and those that follow from its access and its inputs. In addition, every
 * operation may answer 500, and 405 for another method.
 */
export const answersOf = (operation: Operation): Record<number, Answer> => {
  const { access, method, management: managed = false, body, query, limited, answers } = operation
  const retry = managed ? RetryAfterSeconds : RetryAfter
  const guarded = access.by !== 'anyone'
  const ofProject = access.by === 'project'
  return {
    ...(isTagged(operation) && { 304: { description: 'Not modified since `If-None-Match`' } }),
    ...(guarded && { 401: { description: missingCredentials(access.by), schema: ErrorBody } }),
    // With a session only, 403 means a request from a page of another site, or an access token that is not accepted.
    ...(guarded &&
      (access.by !== 'session' || access.tokens === false || method !== 'get') && {
        403: { description: 'Not allowed', schema: Forbidden },
      }),
    ...(ofProject && {
      404: { description: 'Not found, or in a project that the caller may not see', schema: ErrorBody },
    }),
    ...(ofProject &&
      (method === 'patch' || method === 'delete') && {
        412: { description: 'The resource has changed since `If-Match`', schema: ErrorBody },
      }),
    ...((body || managed) && {
      400: {
        description: describeUnusable(managed, body !== undefined),
        schema: ErrorBody,
      },
    }),
    ...(body && {
      413: {
        description:
          `The body is too large, or is over 64 KiB and holds more than ${MAX_BODY_VALUES} values, or ` +
          `${MAX_BODY_PART_VALUES} in one item of a list at its top`,
        schema: ErrorBody,
      },
      415: { description: 'The type or encoding of the body is not supported', schema: ErrorBody },
    }),
    ...(managed &&
      (body || query) && { 422: { description: 'Well-formed, but not valid', schema: Unprocessable } }),
    ...(limited && { 429: { description: 'Too many requests', schema: retry } }),
    ...(guarded && {
      503: {
        description:
          managed && method !== 'get'
            ? 'A store does not answer, or the service is busy. Whether the change was made is unknown: read it before you ' +
              'repeat the request'
            : 'A store or the queue does not answer, or the service is busy; repeat later',
        schema: retry,
      },
    }),
    ...answers,
  }
}

const describeUnusable = (managed: boolean, hasBody: boolean): string => {
  if (!managed) return 'Not JSON'
  return `${hasBody ? 'Not JSON' : 'A body where none is taken'}, or a query parameter that is not known`
}

// Lists and streams have no `ETag`.
const isTagged = ({ access, method, query, answers }: Operation): boolean =>
  access.by === 'project' && method === 'get' && !query && answers[200]?.schema !== undefined

const SERVERS = [
  { url: '/', description: 'The host that serves this document' },
  {
    url: '{baseUrl}',
    description: 'Another host. The page /docs sends requests only to its own host.',
    variables: {
      baseUrl: {
        default: 'http://localhost:8080',
        description: 'Scheme, host, port and the path of a proxy, if any, without a trailing slash.',
      },
    },
  },
]

const ORIGIN_NEEDED =
  'Requests that change something also need the header `Origin` with the scheme, host and port of this server.'
const cookie = (name: string) => ({ type: 'apiKey', in: 'cookie', name })

/** The OpenAPI 3.1 document of operations, from the schemas that validate requests. */
export const openApiDocument = (operations: readonly Operation[], version: string): OpenApiDocument => ({
  openapi: '3.1.0',
  info: {
    title: 'Waymark',
    version,
    description: 'Product events and what follows from them: identity, decisions, coupons, short links.',
    license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
  },
  servers: SERVERS,
  tags: [...new Set(operations.map(({ tag }) => tag))].map((name) => ({ name })),
  paths: Object.fromEntries(
    [...Map.groupBy(operations, ({ path }) => path)].map(([path, ofPath]) => [
      path,
      Object.fromEntries(ofPath.map((operation) => [operation.method, describe(operation)])),
    ]),
  ),
  components: {
    securitySchemes: {
      apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
      bearer: { type: 'http', scheme: 'bearer', description: 'The same API key.' },
      accessToken: {
        type: 'http',
        scheme: 'bearer',
        description: 'A personal access token, `wm_pat_…`, instead of a session.',
      },
      session: { ...cookie(SESSION_COOKIE), description: `Over HTTPS. ${ORIGIN_NEEDED}` },
      localSession: {
        ...cookie(LOCAL_SESSION_COOKIE),
        description: `The same on localhost without HTTPS. ${ORIGIN_NEEDED}`,
      },
    },
  },
})

const isWrite = ({ access, method, readOnly = false }: Operation): boolean =>
  access.by === 'project' && method !== 'get' && !readOnly

const CHANGED = {
  headers: {
    'X-Config-Version': {
      description: 'Send it with a request that must see this change.',
      schema: { type: 'string' },
    },
  },
}

/** The headers of conditional requests, for resources with an `ETag`. */
const conditionsOf = (operation: Operation): Record<string, string> => {
  const { access, method } = operation
  if (access.by !== 'project') return {}
  if (method === 'patch' || method === 'delete')
    return { 'If-Match': 'The `ETag` that was read: when it is another by now, nothing is done.' }
  return isTagged(operation) ? { 'If-None-Match': 'The `ETag` that is known already.' } : {}
}

/** For a client that changed the configuration and whose next request may reach another process. */
const CONFIG_VERSION = {
  'X-Config-Version':
    'The value of this header in the answer of a write. The request is then answered with that configuration ' +
    'or a newer one, after at most a second. Without it, a change applies in every process within 5 s. A ' +
    'value that is not an integer from 0 up gets 400.',
}

const describe = (operation: Operation): JsonObject => {
  const { id, tag, summary, description, access, path, body, query, consumes } = operation
  const headers = {
    ...conditionsOf(operation),
    ...(access.by === 'key' && CONFIG_VERSION),
    ...operation.headers,
  }
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: [description, describeAccess(access) + describeEffects(operation)]
      .filter(Boolean)
      .join('\n\n'),
    security: securityOf(access),
    parameters: [
      ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
        name,
        in: 'path',
        required: true,
        schema: { type: 'string' as const },
      })),
      ...(query ? queryParameters(id, query) : []),
      ...Object.entries(headers).map(([name, meaning]) => ({
        name,
        in: 'header',
        description: meaning,
        schema: { type: 'string' as const },
      })),
    ],
    ...(consumes && describeBody(id, consumes, TEXT)),
    ...(body && describeBody(id, ['application/json'], plain(body.schema))),
    responses: Object.fromEntries(
      Object.entries(answersOf(operation)).map(([status, answer]) => [
        status,
        { ...describeAnswer(answer), ...(isWrite(operation) && Number(status) < 300 && CHANGED) },
      ]),
    ),
  }
}

const describeBody = (id: string, types: readonly string[], schema: JsonObject): JsonObject => {
  const example = requestExamples[id]
  const media = { schema, ...(example !== undefined && { example }) }
  return { requestBody: { required: true, content: Object.fromEntries(types.map((type) => [type, media])) } }
}

const RECENT =
  'a user who has signed in within 10 minutes, or proved who they are with `POST /api/auth/reauthenticate` or ' +
  '`POST /api/auth/oidc/reauthenticate`; otherwise 403 with `code: reauthentication_required`.'

/** Which requests need a recent sign-in; empty when none does. */
const describeEffects = ({ effects }: Operation): string => {
  if (constantEffects(effects).length > 0) return ` Needs ${RECENT}`
  const described = conditionalEffects(effects).map((one) => one.described)
  return described.length > 0 ? ` Needs the following for ${described.join(', or ')}: ${RECENT}` : ''
}

const describeAccess = (access: Access): string => {
  switch (access.by) {
    case 'anyone':
      return ''
    case 'key':
      return `Needs an API key with the scope ${[access.scope, access.orScope ?? []]
        .flat()
        .map((scope) => `\`${scope}\``)
        .join(' or ')}.`
    case 'session':
      return access.tokens === false
        ? `Needs a session${access.providers ? '' : ' that began with the password'}; an access token is refused.`
        : 'Needs a session or an access token.'
    case 'session-or-key':
      return `Needs a session, an access token, or an API key with the scope \`${access.scope}\`.`
    case 'project': {
      const scope = keyScopeOf(access)
      const orKey = scope ? `, or an API key with the scope \`${scope}\`` : ''
      const noToken = access.tokens === false ? ' An access token is refused.' : ''
      return `Needs the role \`${access.role}\`${orKey}.${noToken}`
    }
  }
}

const securityOf = (access: Access): Record<string, string[]>[] => {
  if (access.by === 'anyone') return []
  if (access.by === 'key') return [{ apiKey: [] }, { bearer: [] }]
  const takesTokens = access.by === 'session-or-key' || access.tokens !== false
  const takesKeys = access.by === 'session-or-key' || (access.by === 'project' && keyScopeOf(access))
  return [
    { session: [] },
    { localSession: [] },
    ...(takesTokens ? [{ accessToken: [] }] : []),
    ...(takesKeys ? [{ apiKey: [] }, { bearer: [] }] : []),
  ]
}

const queryParameters = (id: string, { schema }: RequestPart<unknown>): JsonObject[] => {
  const { properties = {}, required = [] } = schema as {
    properties?: Record<string, TSchema>
    required?: string[]
  }
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: 'query',
    required: required.includes(name) && !('default' in property),
    schema: plain(property),
    ...(queryExamples[id]?.[name] !== undefined && { example: queryExamples[id][name] }),
  }))
}

const describeAnswer = ({ description, schema, contentTypes = ['application/json'] }: Answer) => ({
  description,
  ...((schema || contentTypes[0] !== 'application/json') && {
    content: Object.fromEntries(
      contentTypes.map((type) => [
        type,
        { schema: schema && type === 'application/json' ? plain(schema) : schemaOfType(type) },
      ]),
    ),
  }),
})

const TEXT: JsonObject = { type: 'string' }

/** The schema of a body that is not JSON. */
const schemaOfType = (type: string): JsonObject =>
  type.startsWith('text/') || type.endsWith('+xml') ? TEXT : { ...TEXT, format: 'binary' }

// TypeBox stores metadata in hidden properties, which JSON drops.
const plain = (schema: TSchema): JsonObject => JSON.parse(JSON.stringify(openObjects(schema))) as JsonObject
