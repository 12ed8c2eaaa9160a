import { MAX_SCHEMA_PARTS } from '@waymark/contracts/http/event-definitions'
import { MAX_EVENT_BYTES } from '@waymark/contracts/http/track-request'
import type { ValidationItem } from '@waymark/contracts/http/track-result'
import { describeError, memberOf } from '@waymark/contracts/problem-message'
import type { ProjectSettings, ValidationMode } from '@waymark/contracts/project-settings'
import type { AcceptedEvent } from '@waymark/contracts/records/ingest-record'
import type { ErrorObject, Options, ValidateFunction } from 'ajv'
import { weightOf } from '../json/client-json.ts'
import { WorkBudget } from '../logic/work-budget.ts'
import { createSchemaCompiler } from './schema-compiler.ts'
import { expandedSize, partsOf, resolvePointer, runCost, schemaProblems } from './schema-safety.ts'
import { checkingPart, DEFAULT_DRAFT, type Draft, draftOf, positionsIn } from './schema-vocabulary.ts'

/** The configuration of a project for validating events. */
export type Catalog = {
  settings: ProjectSettings
  /** Whether the project has any event definition. */
  hasDefinitions: boolean
  /** The check for an event name, or `undefined` without a definition. */
  checkFor: (eventName: string) => PropertyCheck | undefined
}

/** Errors refuse the event; warnings do not. */
type Verdict = { violations: ValidationItem[]; warnings: ValidationItem[] }

/** The validation mode: that of the key, else of the project, else `warn`. */
export const validationModeOf = (ofKey: ValidationMode | null, settings: ProjectSettings): ValidationMode =>
  ofKey ?? settings.ingestValidation?.mode ?? 'warn'

/**
 * Validates an event against the catalog of its project. `off` reports nothing and `warn` only warnings. `enforce` refuses
 * events that violate their schema, and those without a definition if the project is configured so. In a project without
 * any definition, a missing one is not a warning.
 */
export const validateEvent = (
  event: AcceptedEvent,
  envelopeWarnings: readonly ValidationItem[],
  mode: ValidationMode,
  catalog: Catalog,
  budget = new WorkBudget(),
): Verdict => {
  if (mode === 'off') return { violations: [], warnings: [] }
  const check = catalog.checkFor(event.eventName)
  const rejectsUnknown = mode === 'enforce' && catalog.settings.ingestValidation?.rejectUnknownEvents === true
  if (!check && !catalog.hasDefinitions && !rejectsUnknown)
    return { violations: [], warnings: [...envelopeWarnings] }
  const found = check ? check(event.properties, budget) : [unknownEvent(event.eventName)]
  const refuses = mode === 'enforce' && (check ? !found.includes(UNUSABLE_SCHEMA) : rejectsUnknown)
  return refuses
    ? { violations: found, warnings: [...envelopeWarnings] }
    : { violations: [], warnings: envelopeWarnings.concat(found) }
}

const unknownEvent = (eventName: string): ValidationItem => ({
  field: 'eventName',
  rule: 'unknown_event',
  actual: eventName,
  message: 'has no event definition',
})

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

/**
 * Compiles the schema of an event's properties, which takes milliseconds. A schema with more parts than allowed is not
 * compiled, and its check returns `too_complex` for every event. Keywords that are not supported are ignored.
 * @throws Error when it is not a valid JSON Schema
 */
export const compileEventSchema = (stored: object): PropertyCheck => {
  if (partsOf(stored) > MAX_SCHEMA_PARTS || expandedSize({ ...stored }) === 'recursive')
    return () => [TOO_COMPLEX]
  const draft = draftOf(stored) ?? DEFAULT_DRAFT
  const schema = checkingPart(stored)
  const validate = compileIn(draft, schema)
  let listErrors: ValidateFunction | undefined
  const cost = runCost(schema)
  const maxWeight = MAX_STEPS / cost

  return (properties, budget = new WorkBudget()) => {
    const weight = weightOf(properties, Math.min(maxWeight, MAX_EVENT_WEIGHT))
    const steps = Math.ceil(weight * cost)
    if (weight > maxWeight || steps > budget.left) return [TOO_COMPLEX]
    budget.spend(steps)
    try {
      if (validate(properties)) return []
      const first = (validate.errors ?? []).slice(0, 1)
      if (steps <= MAX_STEPS_FOR_ERRORS) {
        listErrors ??= compileIn(draft, schema, { allErrors: true })
        listErrors(properties)
      }
      const errors = steps <= MAX_STEPS_FOR_ERRORS ? (listErrors?.errors ?? first) : first
      return errors.slice(0, MAX_ERRORS).map((error) => toItem(error, schema, properties))
    } catch {
      // Schemas come from clients. Whatever one of them makes Ajv throw must not fail the request.
      return [UNUSABLE_SCHEMA]
    }
  }
}

// A separate compiler for each schema, so that its code can be garbage-collected. The schema itself is validated only when
// it is saved, because that takes ten times as long.
const compileIn = (draft: Draft, schema: object, options: Options = {}): ValidateFunction => {
  const validate = createSchemaCompiler(draft, { validateSchema: false, ...options }).compile(schema)
  // Such a check returns a promise, and nothing would handle its rejection.
  if ('$async' in validate) throw new Error('the schema is asynchronous')
  return validate
}

const UNUSABLE_SCHEMA: ValidationItem = {
  field: 'properties',
  rule: 'unusable_schema',
  message: 'is not checked, because the schema of the event definition cannot be used; save a valid schema',
}

/** The check for a schema that cannot be compiled: a warning for each event, in every mode. */
export const uncheckedProperties: PropertyCheck = () => [UNUSABLE_SCHEMA]

const TOO_COMPLEX: ValidationItem = {
  field: 'properties',
  rule: 'too_complex',
  message: 'has too many values to be checked against a schema of this size',
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
  const draft = draftOf(schema) ?? DEFAULT_DRAFT
  const compiler = createSchemaCompiler(draft, { verbose: true })
  const { $schema: _draft, ...content } = schema as { $schema?: unknown }
  if (!compiler.validateSchema(content)) {
    const [error] = compiler.errors ?? []
    const field = `schema${(error?.instancePath ?? '').replaceAll('/', '.')}`
    return [{ field, rule: 'invalid_schema', message: error ? describeError(error) : 'is not a JSON Schema' }]
  }
  const formats = Object.keys(compiler.formats)
  const unknown = positionsIn(schema).find(
    ({ schema: { format } }) => format !== undefined && !formats.includes(`${format}`),
  )
  if (unknown) {
    const { format } = unknown.schema
    const message = `must be one of ${formats.sort().join(', ')}; got ${JSON.stringify(format)}`
    return [{ field: `${unknown.field}.format`, rule: 'unsupported_format', message }]
  }
  try {
    compileIn(draft, checkingPart(schema))
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
    message: describeError({ ...error, schema: expected, data, parentSchema }, { root: properties }),
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
