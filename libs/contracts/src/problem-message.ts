import type { ErrorObject } from 'ajv'
import { numberSourceAt } from './number-source.ts'
import { PLACEHOLDER_KEYWORD } from './placeholder-id.ts'

/** A keyword of schemas: a string that is not empty must have a visible character. */
export const VISIBLE_KEYWORD = 'x-visible'

/** The annotation that describes what a `pattern` allows, as text after "must be". */
export const PATTERN_DESCRIPTION = 'x-pattern-description'

/** Maximum characters of a received value in a message. */
const MAX_SHOWN_LENGTH = 100
/** Maximum characters of all allowed values in a message. */
const MAX_LIST_LENGTH = 400

type Schema = Record<string, unknown>

/**
 * Describes why a value does not match, as a predicate of the field: `must be one of off, warn; got "strict"`.
 * The error must come from an Ajv with `verbose`, which adds the value and its schema. The value is omitted if its
 * schema has `writeOnly`, or with `showReceived: false`, because it may be a secret. `root` is the parsed JSON that holds the
 * value: a number that lost digits is shown as it was sent.
 */
export const describeError = (
  error: ErrorObject,
  { showReceived = true, root }: { showReceived?: boolean; root?: unknown } = {},
): string => {
  const { keyword, params, data, parentSchema = {}, instancePath } = error
  const received = () => {
    const source = typeof data === 'number' ? numberSourceAt(root, instancePath) : undefined
    return source === undefined ? show(data) : cut(source)
  }
  const got = (text: string): string =>
    showReceived && !parentSchema.writeOnly ? `${text}; got ${received()}` : text
  switch (keyword) {
    case 'required':
      return 'is required'
    case 'dependentRequired':
    case 'dependencies':
      return `is required beside ${params.property}`
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return unknownField(Object.keys((parentSchema.properties as Schema | undefined) ?? {}))
    case 'type':
      return got(`must be ${typeNames(parentSchema.type)}`)
    case 'enum':
      return got(oneOf(error.schema as unknown[]))
    case 'const':
      return got(oneOf([error.schema]))
    case 'minLength':
      return error.schema === 1
        ? 'must not be empty'
        : `must have at least ${count(error.schema, 'character')}; got ${lengthOf(data)}`
    case 'maxLength':
      return `must have at most ${count(error.schema, 'character')}; got ${lengthOf(data)}`
    case 'pattern':
    case VISIBLE_KEYWORD:
      return got(patternInWords(error))
    case 'format':
      return got(`must be ${FORMATS[`${error.schema}`] ?? `in the format ${error.schema}`}`)
    case 'minimum':
    case 'maximum':
      return got(range(parentSchema, error))
    case 'exclusiveMinimum':
      return got(`must be greater than ${error.schema}`)
    case 'exclusiveMaximum':
      return got(`must be less than ${error.schema}`)
    case 'multipleOf':
      return got(`must be a multiple of ${error.schema}`)
    case 'minItems':
      return `must have at least ${count(error.schema, 'item')}; got ${sizeOf(data)}`
    case 'maxItems':
      return `must have at most ${count(error.schema, 'item')}; got ${sizeOf(data)}`
    case 'uniqueItems':
      return 'must not contain an item twice'
    case 'contains':
      return 'must contain more items of the required kind'
    case 'minProperties':
      return `must have at least ${count(error.schema, 'member')}; got ${sizeOf(data)}`
    case 'maxProperties':
      return `must have at most ${count(error.schema, 'member')}; got ${sizeOf(data)}`
    case 'propertyNames':
      return `has a member with the name ${show(params.propertyName)}, which is not allowed`
    case PLACEHOLDER_KEYWORD:
      return got('must be an id, and no placeholder such as undefined, null, None or [object Object]')
    case 'not':
      return got(excluded(error.schema))
    case 'anyOf':
    case 'oneOf':
      return got(alternatives(error.schema as Schema[], data))
    case 'false schema':
      return 'is not allowed'
    default:
      return got('is not valid')
  }
}

/** The member of an object that an error refers to: a missing or an unknown one. */
export const memberOf = ({ keyword, params }: ErrorObject): string | undefined => {
  switch (keyword) {
    case 'required':
    case 'dependentRequired':
    case 'dependencies':
      return `${params.missingProperty}`
    case 'additionalProperties':
      return `${params.additionalProperty}`
    case 'unevaluatedProperties':
      return `${params.unevaluatedProperty}`
    default:
      return undefined
  }
}

/**
 * The most helpful of the errors from an Ajv without `allErrors`. Ajv reports the errors of all alternatives before the
 * one that none of them matches. If the value's type leaves one alternative, its error is the most helpful.
 */
export const mainError = (errors: readonly ErrorObject[]): ErrorObject | undefined => {
  const last = errors.at(-1)
  if (last?.keyword !== 'anyOf' && last?.keyword !== 'oneOf') return last
  const branches = last.schema as Schema[]
  if (valuesOf({ anyOf: branches })) return last
  const possible = branches.flatMap((branch, index) => (mayHold(branch, last.data) ? [index] : []))
  const [only] = possible
  if (only === undefined || possible.length > 1) return last
  const prefix = `${last.schemaPath}/${only}/`
  return mainError(errors.filter(({ schemaPath }) => schemaPath.startsWith(prefix))) ?? last
}

/** Whether an error means that a value is not one of the listed values. */
export const listsValues = ({ keyword, schema }: ErrorObject): boolean =>
  keyword === 'enum' ||
  keyword === 'const' ||
  (keyword === 'anyOf' && valuesOf({ anyOf: schema }) !== undefined)

/** The problem for unknown fields, with their names. */
export const unknownField = (known: readonly string[], what = 'field'): string =>
  known.length === 0
    ? `is not a known ${what}; none is allowed here`
    : `is not a known ${what}; allowed: ${list(known)}`

/** A value for a message: on one line, truncated. */
export const show = (value: unknown): string => {
  if (value === undefined) return 'nothing'
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : 'an array'
  if (typeof value === 'object' && value !== null) return 'an object'
  if (typeof value !== 'string') return `${value}`
  const text = value.length > MAX_SHOWN_LENGTH ? `${value.slice(0, MAX_SHOWN_LENGTH)}…` : value
  return JSON.stringify(text.toWellFormed())
}

const TYPES: Record<string, string> = {
  string: 'a string',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  null: 'null',
}

const FORMATS: Record<string, string> = {
  'date-time': 'an RFC 3339 time such as 2026-01-31T12:00:00Z',
  currency: 'an ISO 4217 currency code such as EUR',
  date: 'a date such as 2026-01-31',
  time: 'an RFC 3339 time of day such as 12:00:00Z',
  duration: 'an ISO 8601 duration such as P1D',
  uuid: 'a UUID',
  email: 'an email address',
  'idn-email': 'an email address',
  hostname: 'a host name',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
  uri: 'an absolute URL',
  url: 'an absolute URL',
  'uri-reference': 'a URL or a path',
}

const typeNames = (type: unknown): string =>
  [type]
    .flat()
    .map((name) => TYPES[`${name}`] ?? `${name}`)
    .join(' or ')

// Null means no value, so messages do not list it.
const oneOf = (all: readonly unknown[]): string => {
  const given = all.filter((value) => value !== null)
  const values = given.length > 0 ? given : all
  return values.length === 1 ? `must be ${bare(values[0])}` : `must be one of ${list(values.map(bare))}`
}

// Allowed values are not quoted, as in the documentation.
const bare = (value: unknown): string =>
  typeof value === 'string' ? cut(value) : cut(JSON.stringify(value) ?? `${value}`)
const cut = (text: string): string =>
  text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH).toWellFormed()}…` : text

const list = (texts: readonly string[]): string => {
  let listed = ''
  for (const [index, text] of texts.entries()) {
    const next = index === 0 ? cut(text) : `${listed}, ${cut(text)}`
    if (next.length > MAX_LIST_LENGTH) return `${listed} and ${texts.length - index} more`
    listed = next
  }
  return listed
}

const patternInWords = ({ schema, parentSchema = {} }: ErrorObject): string => {
  const words: unknown = parentSchema[PATTERN_DESCRIPTION]
  return typeof words === 'string'
    ? `must be ${words}`
    : `must fit the regular expression ${cut(`${schema}`)}`
}

const range = ({ minimum, maximum }: Schema, { keyword, schema }: ErrorObject): string => {
  if (minimum !== undefined && maximum !== undefined) return `must be from ${minimum} to ${maximum}`
  return keyword === 'minimum' ? `must be at least ${schema}` : `must be at most ${schema}`
}

const excluded = (schema: unknown): string => {
  const values = typeof schema === 'object' && schema !== null ? valuesOf(schema as Schema) : undefined
  return values ? `must be none of ${list(values.map(bare))}` : 'must not have this form'
}

const alternatives = (branches: readonly Schema[], value: unknown): string => {
  const values = valuesOf({ anyOf: branches })
  if (values) return oneOf(values)
  const types = new Set(branches.flatMap(({ type }) => type ?? []))
  if (types.size === 0) return 'must have an allowed form'
  const names = `must be ${typeNames([...types])}`
  return branches.some((branch) => mayHold(branch, value)) ? `${names} in one of the allowed forms` : names
}

/** All values that match a schema, if it lists them. */
const valuesOf = (schema: Schema): unknown[] | undefined => {
  if ('const' in schema) return [schema.const]
  if (Array.isArray(schema.enum)) return schema.enum
  if (schema.type === 'null') return [null]
  if (!Array.isArray(schema.anyOf)) return undefined
  const values = schema.anyOf.map((branch: Schema) => valuesOf(branch))
  return values.every((found) => found !== undefined) ? values.flat() : undefined
}

const mayHold = ({ type, anyOf }: Schema, value: unknown): boolean => {
  if (Array.isArray(anyOf)) return anyOf.some((branch: Schema) => mayHold(branch, value))
  if (type === undefined) return true
  const types: unknown[] = [type].flat()
  return types.includes(typeOf(value)) || (types.includes('integer') && typeof value === 'number')
}

const typeOf = (value: unknown): string => {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

const count = (limit: unknown, noun: string): string => `${limit} ${noun}${limit === 1 ? '' : 's'}`
const lengthOf = (text: unknown): number => [...`${text}`].length
const sizeOf = (value: unknown): number => Object.keys(Object(value)).length
