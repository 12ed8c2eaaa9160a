import {
  _,
  type ErrorObject,
  type FuncKeywordDefinition,
  type Options,
  str,
  type ValidateFunction,
} from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { Static, TSchema } from 'typebox'
import { currencyOf } from './currency.ts'
import { deliverableAddress } from './email-address.ts'
import { isPlaceholderId, PLACEHOLDER_KEYWORD } from './placeholder-id.ts'
import {
  describeError,
  listsValues,
  mainError,
  memberOf,
  PATTERN_DESCRIPTION,
  VISIBLE_KEYWORD,
} from './problem-message.ts'
import { parseRfc3339 } from './rfc3339.ts'

// Default_Ignorable_Code_Point: zero-width and bidirectional controls, soft hyphens, fillers, variation selectors, tags.
// U+2800 is the blank Braille pattern, and U+FFF9 to U+FFFB are annotation controls.
const VISIBLE = /[^\s\p{Cc}\p{Default_Ignorable_Code_Point}\u2800\ufff9-\ufffb]/u

/** Whether a text has a character that people can see. */
export const hasVisibleCharacter = (text: string): boolean => VISIBLE.test(text)

const visibleKeyword: FuncKeywordDefinition = {
  keyword: VISIBLE_KEYWORD,
  type: 'string',
  schemaType: 'boolean',
  compile: (required: boolean) => (text: string) => !required || text === '' || hasVisibleCharacter(text),
}

const placeholderKeyword: FuncKeywordDefinition = {
  keyword: PLACEHOLDER_KEYWORD,
  type: 'string',
  schemaType: 'boolean',
  compile: (refused: boolean) => (text: string) => !refused || text === '' || !isPlaceholderId(text),
}

const minLength: FuncKeywordDefinition = {
  keyword: 'minLength',
  type: 'string',
  schemaType: 'number',
  before: 'pattern',
  error: {
    message: ({ schemaCode }) => str`must NOT have fewer than ${schemaCode} characters`,
    params: ({ schemaCode }) => _`{limit: ${schemaCode}}`,
  },
  compile: (limit: number) => (text: string) =>
    text.length >= 2 * limit || (text.length >= limit && charactersIn(text) >= limit),
}

const maxLength: FuncKeywordDefinition = {
  keyword: 'maxLength',
  type: 'string',
  schemaType: 'number',
  before: 'pattern',
  error: {
    message: ({ schemaCode }) => str`must NOT have more than ${schemaCode} characters`,
    params: ({ schemaCode }) => _`{limit: ${schemaCode}}`,
  },
  compile: (limit: number) => (text: string) =>
    text.length <= limit || (text.length <= 2 * limit && charactersIn(text) <= limit),
}

const charactersIn = (text: string): number => {
  let characters = 0
  for (const _character of text) characters++
  return characters
}

/**
 * Replaces `minLength` and `maxLength` of an Ajv instance by faster ones. They compare the number of UTF-16 code units first,
 * and count characters only when that does not decide.
 */
export const withTextLength = <A extends Pick<Ajv2020, 'removeKeyword' | 'addKeyword'>>(ajv: A): A => {
  ajv.removeKeyword('maxLength').removeKeyword('minLength').addKeyword(maxLength).addKeyword(minLength)
  return ajv
}

/** Matches an id, in any case. */
export const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

const createAjv = (options: Options = {}): Ajv2020 => {
  const created = new Ajv2020({ strict: true, allowUnionTypes: true, verbose: true, ...options })
  addFormats.default(created)
  withTextLength(created)
  created.addKeyword(visibleKeyword)
  created.addKeyword(placeholderKeyword)
  created.addVocabulary([PATTERN_DESCRIPTION, 'example'])
  // The formats of ajv-formats allow text that PostgreSQL refuses, such as the year 0, `+02` and `urn:uuid:`.
  created.addFormat('date-time', (text: string) => parseRfc3339(text) !== undefined)
  created.addFormat('date', (text: string) => parseRfc3339(`${text}T00:00:00Z`) !== undefined)
  created.addFormat('uuid', UUID)
  created.addFormat('idn-email', (text: string) => deliverableAddress(text) !== undefined)
  created.addFormat('currency', (text: string) => currencyOf(text) !== undefined)
  return created
}
const ajv = createAjv()
const queryAjv = createAjv({ useDefaults: true })

/**
 * Why a value does not match its schema: the path of the field (empty for the value itself), the violated rule, and a
 * message with the allowed and the received value, which follows the name of the field.
 */
export type SchemaProblem = { field: string; rule: string; message: string }

/** A compiled schema. `check` returns the first problem, or `undefined` when the value matches. */
export type Validator<T> = {
  readonly fits: (value: unknown) => value is T
  readonly check: (value: unknown) => SchemaProblem | undefined
}

/**
 * Creates a validator. It is compiled on first use, because compiling takes milliseconds and memory, and most processes use
 * few validators. With `showReceived: false` messages do not contain received values, such as secrets.
 */
export const compileValidator = <S extends TSchema>(
  schema: S,
  { showReceived = true } = {},
): Validator<Static<S>> => compileWith(ajv, schema, showReceived)

/**
 * Like `compileValidator`, for query parameters: it modifies the object, converting strings to the types of the schema and
 * filling in defaults.
 */
export const compileQueryValidator = <S extends TSchema>(schema: S): Validator<Static<S>> => {
  const { properties = {} } = schema as { properties?: Record<string, { type?: string }> }
  const { fits, check } = compileWith(queryAjv, schema, true)
  const convert = (query: unknown): unknown => {
    if (typeof query !== 'object' || query === null) return query
    for (const [name, { type }] of Object.entries(properties)) {
      const text: unknown = Reflect.get(query, name)
      if (typeof text === 'string') Reflect.set(query, name, fromText(text, type))
    }
    return query
  }
  return {
    fits: (query): query is Static<S> => fits(convert(query)),
    check: (query) => check(convert(query)),
  }
}

const fromText = (text: string, type: string | undefined): unknown => {
  if (type === 'integer' && /^-?\d{1,15}$/.test(text)) return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

const compileWith = <S extends TSchema>(
  compiler: Ajv2020,
  schema: S,
  showReceived: boolean,
): Validator<Static<S>> => {
  let compiled: ValidateFunction<Static<S>> | undefined
  const compile = (): ValidateFunction<Static<S>> => {
    compiled ??= compiler.compile<Static<S>>(schema)
    return compiled
  }
  return {
    fits: (value): value is Static<S> => (compiled ?? compile())(value),
    check: (value) => {
      const validate = compiled ?? compile()
      return validate(value) ? undefined : toProblem(validate.errors, { showReceived, root: value })
    },
  }
}

const ruleOf = (error: ErrorObject): string => {
  if (listsValues(error)) return 'enum'
  return error.keyword === VISIBLE_KEYWORD ? 'pattern' : error.keyword
}

const toProblem = (
  errors: readonly ErrorObject[] | null | undefined,
  options: { showReceived: boolean; root: unknown },
): SchemaProblem => {
  const error = mainError(errors ?? [])
  if (!error) return { field: '', rule: 'schema', message: 'is not valid' }
  // A JSON pointer, in which ~1 and ~0 stand for / and ~.
  const path = error.instancePath.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~')
  const member = memberOf(error)
  const field = member === undefined ? path : [path, member === '' ? '""' : member].filter(Boolean).join('.')
  const message = describeError(error, options)
  return { field, rule: ruleOf(error), message }
}
