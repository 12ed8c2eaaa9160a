import type { Static, TSchema } from 'typebox'
import type { ApiKeyScope } from '../api-key.ts'
import type { ProjectRole } from '../project-role.ts'
import { compileQueryValidator, compileValidator, type Validator } from '../validator.ts'
import { closeObjects } from './close-objects.ts'

/** Values, members and items at any depth, in a JSON body of over 1 MiB. What has more takes too long to parse. */
export const MAX_BODY_VALUES = 100_000

/** Where an operation is found. Parameters stand in braces: `/s/{code}`. */
export type Endpoint = {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  readonly path: string
  /** Whether it works on so much at once that an answer may take longer than the usual 5 s. */
  readonly takesLong?: boolean
  /** Whether it changes nothing though its method is not GET: it is not written into the audit log. */
  readonly readOnly?: boolean
  /** Whether it belongs to the management API, whose errors name the time to wait `retryAfterSeconds`. */
  readonly management?: boolean
  /**
   * Whether nearly all of its replies go to programs: they leave out the security headers that mean something to a
   * browser's page only. Errors have them.
   */
  readonly forPrograms?: boolean
}

/** Who may ask. */
export type Access =
  | { by: 'anyone' }
  /** `X-API-Key` with a scope. */
  | { by: 'key'; scope: ApiKeyScope }
  /** A signed-in user. */
  | { by: 'session' }
  | { by: 'session-or-key'; scope: ApiKeyScope }
  /** A member with at least this role, or a key of the project with the scope that stands for the role. */
  | { by: 'project'; role: ProjectRole }

/** What an answer means, and its JSON; no schema when there is no body, or when it is not JSON. */
export type Answer = { description: string; schema?: TSchema; contentTypes?: readonly string[] }

/** What is read from a request, by the schema that documents it. */
export type RequestPart<T> = { readonly schema: TSchema; readonly validator: Validator<T> }

/** One thing that the API can do, as data: it drives validation, access, and the OpenAPI document. */
export type Operation<Body = unknown, Query = unknown, A extends Access = Access> = Endpoint & {
  /** Unique; a verb and what it is done to, such as `createLink`. */
  readonly id: string
  /** The resource that it is listed under. */
  readonly tag: string
  readonly summary: string
  readonly description?: string
  readonly access: A
  /** Whether it answers 429. */
  readonly limited: boolean
  readonly body?: RequestPart<Body>
  readonly query?: RequestPart<Query>
  /** Types of a body that is not JSON and is read as a stream. */
  readonly consumes?: readonly string[]
  /** Request headers that mean something to it, by name. */
  readonly headers?: Readonly<Record<string, string>>
  /** Its own answers by status, those of every operation with its access and parts left out. */
  readonly answers: Readonly<Record<number, Answer>>
}

type OperationSpec<B extends TSchema, Q extends TSchema, A extends Access> = Omit<
  Operation<unknown, unknown, A>,
  'body' | 'query' | 'limited'
> & {
  limited?: boolean
  body?: B
  query?: Q
}

/**
 * Describes an operation. Objects in a body refuse members that they do not declare, unless they say
 * `additionalProperties`. A query's values are strings in the URL and are converted to what its schema says;
 * defaults are filled in. Validators are compiled when they are first used. What sessions may do belongs to the
 * management API.
 */
export const defineOperation = <
  const A extends Access,
  B extends TSchema = TSchema,
  Q extends TSchema = TSchema,
>({
  body,
  query,
  ...spec
}: OperationSpec<B, Q, A>): Operation<Static<B>, Static<Q>, A> => ({
  limited: false,
  management: spec.access.by !== 'anyone' && spec.access.by !== 'key',
  ...spec,
  ...(body && { body: lazily(closeObjects(body), compileValidator) }),
  ...(query && { query: lazily(query, compileQueryValidator) }),
})

const lazily = <S extends TSchema>(
  schema: S,
  compile: (schema: S) => Validator<Static<S>>,
): RequestPart<Static<S>> => {
  let validator: Validator<Static<S>> | undefined
  return {
    schema,
    get validator() {
      validator ??= compile(schema)
      return validator
    },
  }
}
