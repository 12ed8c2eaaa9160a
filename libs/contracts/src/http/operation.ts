import type { Static, TSchema } from 'typebox'
import type { ApiKeyScope } from '../api-key.ts'
import { type ProjectRole, scopeForRole } from '../project-role.ts'
import { compileQueryValidator, compileValidator, type Validator } from '../validator.ts'
import { closeObjects } from './close-objects.ts'
import type { DeclaredEffect } from './effects.ts'

/** Maximum values (members and items at any depth) of a JSON body over 64 KiB. More would take too long to parse. */
export const MAX_BODY_VALUES = 100_000
/** Maximum values of an item of a list at the top of such a body, and of what is beside the lists. */
export const MAX_BODY_PART_VALUES = 20_000
/** Maximum characters of these. */
export const MAX_BODY_PART_CHARACTERS = 1024 * 1024

/** The method and path of an operation. Parameters are in braces: `/s/{code}`. */
export type Endpoint = {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  readonly path: string
  /** Whether it may take longer than the usual 5 s. */
  readonly takesLong?: boolean
  /** Whether it changes nothing although its method is not GET, so that it is not in the audit log. */
  readonly readOnly?: boolean
  /** Whether it belongs to the management API, whose errors have `retryAfterSeconds` instead of `retryAfter`. */
  readonly management?: boolean
  /**
   * Whether its clients are programs. Its replies, except errors, have no security headers that matter only for pages in
   * browsers.
   */
  readonly forPrograms?: boolean
}

/** Who may call an operation. */
export type Access =
  | { by: 'anyone' }
  /** `X-API-Key` with a scope, or with `orScope`. */
  | { by: 'key'; scope: ApiKeyScope; orScope?: ApiKeyScope }
  /**
   * A signed-in user, by a session or a personal access token. `tokens`: false refuses access tokens, and sessions that
   * began with a tenant's OIDC provider unless `providers` is true.
   */
  | { by: 'session'; tokens?: false; providers?: true }
  | { by: 'session-or-key'; scope: ApiKeyScope }
  /**
   * A member with at least this role, or a key of the project with the scope of the role. `tokens`: false refuses access
   * tokens, `keys`: false refuses keys.
   */
  | ProjectAccess

export type ProjectAccess = { by: 'project'; role: ProjectRole; tokens?: false; keys?: false }

/** The scope with which a key may call an operation of a project. Null when no key may. */
export const keyScopeOf = ({ role, keys }: ProjectAccess): ApiKeyScope | null =>
  keys === false ? null : scopeForRole[role]

/** A response and the schema of its JSON. No schema without a JSON body. */
export type Answer = { description: string; schema?: TSchema; contentTypes?: readonly string[] }

/** A part of a request: its schema and validator. */
export type RequestPart<T> = { readonly schema: TSchema; readonly validator: Validator<T> }

/** The responses of an operation by status. */
export type Answers = Readonly<Record<number, Answer>>

/** A value that becomes a `T` as JSON: a time may be a `Date`, and the values of an enumeration are not checked. */
export type Sendable<T> = T extends string
  ? string | Date
  : T extends readonly (infer Item)[]
    ? readonly Sendable<Item>[]
    : T extends object
      ? { [Name in keyof T]: Sendable<T[Name]> }
      : T

/** What a handler may answer with: the JSON of the statuses below 400, undefined where they have none, or any text and bytes. */
export type AnswerOf<N extends Answers> = {
  [Status in keyof N & SuccessStatus]: N[Status] extends { contentTypes: readonly string[] }
    ? unknown
    : N[Status] extends { schema: infer S extends TSchema }
      ? Sendable<Static<S>>
      : undefined
}[keyof N & SuccessStatus]

type SuccessStatus = 200 | 201 | 202 | 204

/** The description of an operation for validation, access and the OpenAPI document. */
export type Operation<
  Body = unknown,
  Query = unknown,
  A extends Access = Access,
  N extends Answers = Answers,
> = Endpoint & {
  /** A unique id of a verb and an object, such as `createLink`. */
  readonly id: string
  /** The resource in the documentation. */
  readonly tag: string
  readonly summary: string
  readonly description?: string
  readonly access: A
  /**
   * What it does that needs a recent sign-in. Each operation for signed-in users that changes something declares its
   * effects, or that it has none.
   */
  readonly effects?: readonly DeclaredEffect<Body, Query>[]
  /** Whether it answers 429. */
  readonly limited: boolean
  readonly body?: RequestPart<Body>
  readonly query?: RequestPart<Query>
  /** Media types of a body that is not JSON and is read as a stream. */
  readonly consumes?: readonly string[]
  /** The request headers that it uses, by name. */
  readonly headers?: Readonly<Record<string, string>>
  /** Its own responses by status, without those of all operations with the same access and parts. */
  readonly answers: N
}

type OperationSpec<B extends TSchema, Q extends TSchema, A extends Access, N extends Answers> = Omit<
  Operation<unknown, unknown, A, N>,
  'body' | 'query' | 'limited' | 'effects'
> & {
  limited?: boolean
  effects?: readonly DeclaredEffect<Static<B>, Static<Q>>[]
  body?: B
  query?: Q
}

/**
 * Describes an operation. Objects in a body refuse undeclared members, unless they set `additionalProperties`. Values of
 * the query are converted to the types of its schema, and defaults are filled in. Validators are compiled on first use.
 * Operations with sessions belong to the management API.
 */
export const defineOperation = <
  const A extends Access,
  B extends TSchema = TSchema,
  Q extends TSchema = TSchema,
  const N extends Answers = Answers,
>({
  body,
  query,
  ...spec
}: OperationSpec<B, Q, A, N>): Operation<Static<B>, Static<Q>, A, N> => ({
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

/** The messages of 401 by the kind of access. */
export const missingCredentials = (by: Access['by']): string => {
  if (by === 'session') return 'Missing or invalid session'
  const key = 'X-API-Key or as Authorization: Bearer'
  return by === 'key'
    ? `Missing or invalid API key: send it as ${key}`
    : `Missing or invalid session or API key: sign in, or send a key as ${key}`
}
