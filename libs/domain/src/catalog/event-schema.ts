import {
  describeError,
  MAX_EVENT_BYTES,
  MAX_SCHEMA_PARTS,
  memberOf,
  type ValidationItem,
  withTextLength,
} from '@waymark/contracts'
import type { ErrorObject, Options, ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { weightOf } from '../ingestion/json-extent.ts'
import { WorkBudget } from '../logic/work-budget.ts'
import { expandedSize, partsOf, resolvePointer, runCost, schemaProblems } from './schema-safety.ts'
import { uniqueItems } from './unique-items.ts'

const MAX_ERRORS = 10
const MAX_SHOWN_LENGTH = 200
/** Maximum steps of one check: the steps of the schema per value, times the values of the event. */
const MAX_STEPS = 2_000_000
/** Maximum steps of a check that reports all errors, because creating errors is expensive. */
const MAX_STEPS_FOR_ERRORS = 5_000
/** Maximum number of values in an event: each takes at least two bytes of JSON. */
const MAX_EVENT_WEIGHT = MAX_EVENT_BYTES / 2

/**
 * Checks the properties of an event of valid size against a schema. Returns up to ten errors. When the check would exceed
 * the budget, `too_complex` is the only one.
 */
export type PropertyCheck = (properties: Record<string, unknown>, budget?: WorkBudget) => ValidationItem[]

// Unknown keywords and formats are ignored, as JSON Schema requires, and without log output.
const newAjv = (options: Options = {}) =>
  addFormats
    .default(
      withTextLength(
        new Ajv2020({
          strict: false,
          inlineRefs: false,
          code: { optimize: false },
          logger: false,
          ...options,
        }),
      ),
    )
    .removeKeyword('uniqueItems')
    .addKeyword(uniqueItems)
    // The pattern of ajv-formats takes quadratic time.
    .addFormat('url', isUrl)

const isUrl = (text: string): boolean =>
  !/\s/.test(text) && /^(?:https?|ftp):$/.test(URL.parse(text)?.protocol ?? '')

/**
 * Compiles the schema of an event's properties, which takes milliseconds. A schema with more parts than allowed is not
 * compiled, and its check returns `too_complex` for every event.
 * @throws Error when it is not a valid JSON Schema
 */
export const compileEventSchema = (schema: object): PropertyCheck => {
  if (partsOf(schema) > MAX_SCHEMA_PARTS || expandedSize({ ...schema }) === 'recursive')
    return () => [TOO_COMPLEX]
  // A separate instance for each schema, so that its compiled code can be garbage-collected. The schema itself is validated
  // only when it is saved, because that takes ten times as long.
  const validate = newAjv({ validateSchema: false }).compile(schema)
  let listErrors: ValidateFunction | undefined
  const cost = runCost(schema)
  const maxWeight = MAX_STEPS / cost

  return (properties, budget = new WorkBudget()) => {
    const weight = weightOf(properties, Math.min(maxWeight, MAX_EVENT_WEIGHT))
    const steps = Math.ceil(weight * cost)
    if (weight > maxWeight || steps > budget.left) return [TOO_COMPLEX]
    budget.spend(steps)
    if (validate(properties)) return []
    const first = (validate.errors ?? []).slice(0, 1)
    if (steps <= MAX_STEPS_FOR_ERRORS) {
      listErrors ??= newAjv({ validateSchema: false, allErrors: true }).compile(schema)
      listErrors(properties)
    }
    const errors = steps <= MAX_STEPS_FOR_ERRORS ? (listErrors?.errors ?? first) : first
    return errors.slice(0, MAX_ERRORS).map((error) => toItem(error, schema, properties))
  }
}

const TOO_COMPLEX: ValidationItem = {
  field: 'properties',
  rule: 'too_complex',
  message: 'has too many values to be held against a schema with as many parts',
}

/**
 * Why a schema may not be saved: it is not a JSON Schema, or its checks could block the process. Empty when it may. Call it
 * in a worker thread, because analyzing patterns may take seconds.
 */
export const usabilityProblems = async (schema: unknown): Promise<ValidationItem[]> => {
  const problems = await schemaProblems(schema)
  return problems.length > 0 ? problems : compileProblems(schema as object)
}

const compileProblems = (schema: object): ValidationItem[] => {
  const ajv = newAjv({ verbose: true })
  if (!ajv.validateSchema(schema)) {
    const [error] = ajv.errors ?? []
    const field = `schema${(error?.instancePath ?? '').replaceAll('/', '.')}`
    return [{ field, rule: 'invalid_schema', message: error ? describeError(error) : 'is not a JSON Schema' }]
  }
  try {
    ajv.compile(schema)
    return []
  } catch (error) {
    return [{ field: 'schema', rule: 'invalid_schema', message: `${(error as Error).message}`.slice(0, 500) }]
  }
}

const toItem = (error: ErrorObject, schema: object, properties: object): ValidationItem => {
  const path = error.instancePath.replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~')
  const inside = memberOf(error)
  const { schemaPath, instancePath } = error
  const expected = error.keyword === 'false schema' ? false : resolvePointer(schema, schemaPath)
  const parent = resolvePointer(schema, schemaPath.slice(0, schemaPath.lastIndexOf('/')))
  const parentSchema = typeof parent === 'object' && parent !== null ? parent : {}
  const data = valueAt(properties, instancePath)
  return {
    field: `properties${path}${inside === undefined ? '' : `.${inside}`}`,
    rule: error.keyword,
    expected: shortened(expected),
    ...(inside === undefined && { actual: shortened(data) }),
    message: describeError({ ...error, schema: expected, data, parentSchema }),
  }
}

/** The value at a JSON pointer (without URL encoding). */
const valueAt = (root: unknown, pointer: string): unknown =>
  resolvePointer(root, `#${pointer.split('/').map(encodeURIComponent).join('/')}`)

const shortened = (value: unknown): unknown => {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text === undefined || text.length <= MAX_SHOWN_LENGTH
    ? value
    : text.slice(0, MAX_SHOWN_LENGTH).toWellFormed()
}
