import type { TSchema } from 'typebox'
import { scopeForRole } from '../project-role.ts'
import { ErrorBody, Forbidden, RetryAfter, RetryAfterSeconds, Unprocessable } from './error-bodies.ts'
import type { Access, Answer, Operation, RequestPart } from './operation.ts'
import { LOCAL_SESSION_COOKIE, SESSION_COOKIE } from './session-cookie.ts'

type JsonObject = Record<string, unknown>
/** An OpenAPI document, ready for JSON. */
export type OpenApiDocument = JsonObject & { paths: Record<string, Record<string, JsonObject>> }

const MANAGEMENT = /^\/api\/(?!v1\/)/

/**
 * Every answer that an operation may give: its own, and those that follow from who may ask and what is read.
 * Beside them any operation may answer 500, and 405 for another method on its path.
 */
export const answersOf = ({
  access,
  method,
  path,
  body,
  query,
  limited,
  answers,
}: Operation): Record<number, Answer> => {
  const retry = MANAGEMENT.test(path) ? RetryAfterSeconds : RetryAfter
  const guarded = access.by !== 'anyone'
  const managed = MANAGEMENT.test(path)
  const ofProject = access.by === 'project'
  return {
    ...(ofProject &&
      method === 'get' &&
      !query && { 304: { description: 'It is what `If-None-Match` names' } }),
    ...(guarded && { 401: { description: describeMissing(access), schema: ErrorBody } }),
    // To whom a session is enough, only a page of another site is refused.
    ...(guarded &&
      (access.by !== 'session' || method !== 'get') && {
        403: { description: 'Not allowed', schema: Forbidden },
      }),
    ...(ofProject && {
      404: { description: 'Not found, or in a project that the caller may not see', schema: ErrorBody },
    }),
    ...(ofProject &&
      (method === 'patch' || method === 'delete') && {
        412: { description: 'It is not what `If-Match` names any more', schema: ErrorBody },
      }),
    ...(body && {
      400: { description: 'Not JSON', schema: ErrorBody },
      413: { description: 'The body is too large', schema: ErrorBody },
      415: { description: 'The body is of another type or encoding', schema: ErrorBody },
    }),
    ...(managed &&
      (body || query) && { 422: { description: 'Well-formed, but not valid', schema: Unprocessable } }),
    ...(limited && { 429: { description: 'Too many requests', schema: retry } }),
    ...(guarded && {
      503: { description: 'A store or the queue does not answer; repeat later', schema: retry },
    }),
    ...answers,
  }
}

const describeMissing = ({ by }: Access): string => {
  if (by === 'key') return 'Missing or invalid API key'
  return by === 'session' ? 'Missing or invalid session' : 'Missing or invalid session or API key'
}

/** The OpenAPI 3.1 document of operations: made of the schemas that validate requests. */
export const openApiDocument = (operations: readonly Operation[], version: string): OpenApiDocument => ({
  openapi: '3.1.0',
  info: {
    title: 'Waymark',
    version,
    description: 'Product events and what follows from them: identity, decisions, coupons, short links.',
  },
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
      session: {
        type: 'apiKey',
        in: 'cookie',
        name: SESSION_COOKIE,
        description: `On localhost without HTTPS it is \`${LOCAL_SESSION_COOKIE}\`. Requests that change something need the \`Origin\` header of this server beside it.`,
      },
    },
  },
})

/** The headers that ask on a condition, for whatever of a project has an `ETag`. */
const conditionsOf = ({ access, method, query }: Operation): Record<string, string> => {
  if (access.by !== 'project') return {}
  if (method === 'patch' || method === 'delete')
    return { 'If-Match': 'The `ETag` that was read: when it is another by now, nothing is done.' }
  return method === 'get' && !query ? { 'If-None-Match': 'The `ETag` that is known already.' } : {}
}

const describe = (operation: Operation): JsonObject => {
  const { id, tag, summary, description, access, path, body, query, consumes } = operation
  const headers = { ...conditionsOf(operation), ...operation.headers }
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: [description, describeAccess(access)].filter(Boolean).join('\n\n'),
    security: securityOf(access),
    parameters: [
      ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
        name,
        in: 'path',
        required: true,
        schema: { type: 'string' as const },
      })),
      ...(query ? queryParameters(query) : []),
      ...Object.entries(headers).map(([name, meaning]) => ({
        name,
        in: 'header',
        description: meaning,
        schema: { type: 'string' as const },
      })),
    ],
    ...(consumes && {
      requestBody: { required: true, content: Object.fromEntries(consumes.map((type) => [type, {}])) },
    }),
    ...(body && {
      requestBody: { required: true, content: { 'application/json': { schema: plain(body.schema) } } },
    }),
    responses: Object.fromEntries(
      Object.entries(answersOf(operation)).map(([status, answer]) => [status, describeAnswer(answer)]),
    ),
  }
}

const describeAccess = (access: Access): string => {
  switch (access.by) {
    case 'anyone':
      return ''
    case 'key':
      return `Needs an API key with the scope \`${access.scope}\`.`
    case 'session':
      return 'Needs a session.'
    case 'session-or-key':
      return `Needs a session, or an API key with the scope \`${access.scope}\`.`
    case 'project': {
      const scope = scopeForRole[access.role]
      return `Needs the role \`${access.role}\`${scope ? `, or an API key with the scope \`${scope}\`` : ''}.`
    }
  }
}

const securityOf = (access: Access): Record<string, string[]>[] => {
  if (access.by === 'anyone') return []
  if (access.by === 'key') return [{ apiKey: [] }]
  if (access.by === 'session' || (access.by === 'project' && !scopeForRole[access.role]))
    return [{ session: [] }]
  return [{ session: [] }, { apiKey: [] }]
}

const queryParameters = ({ schema }: RequestPart<unknown>): JsonObject[] => {
  const { properties = {}, required = [] } = schema as {
    properties?: Record<string, TSchema>
    required?: string[]
  }
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: 'query',
    required: required.includes(name) && !('default' in property),
    schema: plain(property),
  }))
}

const describeAnswer = ({ description, schema, contentTypes = ['application/json'] }: Answer) => ({
  description,
  ...((schema || contentTypes[0] !== 'application/json') && {
    content: Object.fromEntries(
      contentTypes.map((type) => [
        type,
        schema && type === 'application/json' ? { schema: plain(schema) } : {},
      ]),
    ),
  }),
})

// TypeBox keeps notes of its own in hidden properties; the document is what JSON can carry.
const plain = (schema: TSchema): JsonObject => JSON.parse(JSON.stringify(schema)) as JsonObject
