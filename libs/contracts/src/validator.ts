import type { ErrorObject } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { Static, TSchema } from 'typebox'

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, verbose: true })
addFormats.default(ajv)

/** Why a value does not fit its schema: the path of the offending field (empty for the value itself) and the reason. */
export type SchemaProblem = { field: string; rule: string; message: string }

/** A schema compiled once: `check` answers `undefined` when the value fits, else the first problem found. */
export type Validator<T> = {
  readonly fits: (value: unknown) => value is T
  readonly check: (value: unknown) => SchemaProblem | undefined
}

/** Compiles a schema into a validator. Costs milliseconds: do it once, at module load. */
export const compileValidator = <S extends TSchema>(schema: S): Validator<Static<S>> => {
  const validate = ajv.compile<Static<S>>(schema)
  return {
    fits: (value): value is Static<S> => validate(value),
    check: (value) => (validate(value) ? undefined : toProblem(validate.errors?.[0])),
  }
}

const toProblem = (error: ErrorObject | undefined): SchemaProblem => {
  if (!error) return { field: '', rule: 'schema', message: 'does not fit its schema' }
  // A JSON pointer, in which ~1 and ~0 stand for / and ~.
  const path = error.instancePath.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~')
  const missing = error.keyword === 'required' ? String(error.params.missingProperty) : ''
  const field = [path, missing].filter(Boolean).join('.')
  return { field, rule: error.keyword, message: missing ? 'is required' : (error.message ?? 'is invalid') }
}
