import { AppError, MAX_EVENT_BYTES, type ValidationItem, withTextLength } from '@waymark/contracts'
import type { ErrorObject } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { isHeavierThan } from '../ingestion/value-weight.ts'
import { expandedSize, schemaProblems } from './schema-safety.ts'
import { uniqueItems } from './unique-items.ts'

const MAX_ERRORS = 20
const MAX_SHOWN_LENGTH = 200
/** Parts of a schema times values of an event: each pair may cost a step, and an error to tell of. */
const MAX_STEPS = 2_000_000
/** No event weighs more: in JSON each of its values takes two bytes, itself and what separates it from the next. */
const MAX_EVENT_WEIGHT = MAX_EVENT_BYTES / 2

/** Holds the properties of an event, which is not larger than one may be, against a schema: empty when they fit. */
export type PropertyCheck = (properties: Record<string, unknown>) => ValidationItem[]

// Unknown keywords and formats are ignored, as the standard has it; `logger` would print about them.
const newAjv = () =>
  addFormats
    .default(withTextLength(new Ajv2020({ strict: false, allErrors: true, verbose: true, logger: false })))
    .removeKeyword('uniqueItems')
    .addKeyword(uniqueItems)
    // The pattern of theirs takes a time that grows with the square of a text's length.
    .addFormat('url', isUrl)

const isUrl = (text: string): boolean =>
  !/\s/.test(text) && /^(?:https?|ftp):$/.test(URL.parse(text)?.protocol ?? '')

/**
 * Compiles the schema of an event's properties. Costs milliseconds: do it once per version of a definition.
 * @throws Error when it is not a JSON Schema
 */
export const compileEventSchema = (schema: object): PropertyCheck => {
  // An instance of its own, so that a schema which is forgotten takes its compiled code along.
  const validate = newAjv().compile(schema)
  const size = expandedSize({ ...schema })
  const maxWeight = MAX_STEPS / (size === 'recursive' ? 1 : size)
  const mayBeTooHeavy = maxWeight < MAX_EVENT_WEIGHT
  return (properties) => {
    if (mayBeTooHeavy && isHeavierThan(properties, maxWeight)) return [TOO_COMPLEX]
    return validate(properties) ? [] : (validate.errors ?? []).slice(0, MAX_ERRORS).map(toItem)
  }
}

const TOO_COMPLEX: ValidationItem = {
  field: 'properties',
  rule: 'too_complex',
  message: 'has too many values to be held against a schema with as many parts',
}

/**
 * Checks that a schema may be saved: it is a JSON Schema, and running it cannot hang the process.
 * @throws AppError unprocessable, with the reason in `errors`
 */
export const requireUsableSchema = (schema: unknown): void => {
  const problems = schemaProblems(schema)
  if (problems.length === 0) problems.push(...compileProblems(schema as object))
  if (problems.length > 0)
    throw new AppError('unprocessable', 'The schema cannot be used', { errors: problems })
}

const compileProblems = (schema: object): ValidationItem[] => {
  try {
    compileEventSchema(schema)
    return []
  } catch (error) {
    return [{ field: 'schema', rule: 'invalid_schema', message: `${(error as Error).message}`.slice(0, 500) }]
  }
}

const toItem = (error: ErrorObject): ValidationItem => {
  const path = error.instancePath.replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~')
  const inside = missingOrUnexpected(error)
  return {
    field: `properties${path}${inside === undefined ? '' : `.${inside}`}`,
    rule: error.keyword,
    expected: shortened(error.schema),
    ...(inside === undefined && { actual: shortened(error.data) }),
    message: error.message ?? 'is invalid',
  }
}

// These two report the object; the field that they are about is inside of it.
const missingOrUnexpected = ({ keyword, params }: ErrorObject): string | undefined => {
  if (keyword === 'required') return `${params.missingProperty}`
  if (keyword === 'additionalProperties') return `${params.additionalProperty}`
  return undefined
}

const shortened = (value: unknown): unknown => {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text === undefined || text.length <= MAX_SHOWN_LENGTH
    ? value
    : text.slice(0, MAX_SHOWN_LENGTH).toWellFormed()
}
