import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describeError, mainError, PATTERN_DESCRIPTION } from '@waymark/contracts/problem-message'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { Static, TSchema } from 'typebox'

/** An environment variable and the schema of its value. The schema's `default` applies when it is unset. */
export type Variable<S extends TSchema = TSchema> = { readonly variable: string; readonly schema: S }
/** A configuration as a tree of variables. */
export type ConfigSpec = { readonly [name: string]: Variable | ConfigSpec }
/** The values of a spec, in the same tree. */
export type Config<Spec> = {
  readonly [Name in keyof Spec]: Spec[Name] extends Variable<infer S> ? Static<S> : Config<Spec[Name]>
}

/** Declares an environment variable. `schema.description` is its documentation. */
export const variable = <S extends TSchema>(variable: string, schema: S): Variable<S> => ({
  variable,
  schema,
})

/** The environment is not valid. The message names every wrong variable, and never a value. */
export class ConfigError extends Error {
  constructor(problems: readonly string[]) {
    super(`The configuration is not usable:\n${problems.map((problem) => `  ${problem}`).join('\n')}`)
    this.name = 'ConfigError'
  }
}

const ajv = new Ajv2020({
  coerceTypes: 'array',
  useDefaults: true,
  allowUnionTypes: true,
  verbose: true,
  // The schemas are written here and used once, at the start: checking them or optimizing their code takes longer.
  validateSchema: false,
  code: { optimize: false },
})
ajv.addVocabulary([PATTERN_DESCRIPTION])
addFormats.default(ajv)

/** Whether an entry is a variable, and not a group of variables. */
export const isVariable = (entry: Variable | ConfigSpec): entry is Variable =>
  typeof entry.variable === 'string'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Reads a configuration from environment variables. Lists are separated by commas, and an empty variable counts as unset.
 * Instead of `NAME`, `NAME_FILE` may name a file that contains the value, such as a mounted secret. A file `NAME` in the
 * directory `SECRETS_DIR` overrides both.
 * @throws ConfigError with all wrong variables
 */
export const readConfig = <Spec extends ConfigSpec>(spec: Spec, env: Environment): Config<Spec> =>
  readConfigs([spec], env)[0]

/** Reads several configurations, as `readConfig`, and reports their problems together. */
export const readConfigs = <const Specs extends readonly ConfigSpec[]>(
  specs: Specs,
  env: Environment,
): { readonly [Index in keyof Specs]: Config<Specs[Index]> } => {
  const problems: string[] = []
  const declared = new Set(specs.flatMap(variablesOf).map(({ variable }) => variable))
  const secrets = isSet(env.SECRETS_DIR) ? filesIn(env.SECRETS_DIR, problems) : new Map<string, string>()
  const textOf = (name: string): string | undefined => {
    const secret = secrets.get(name)
    if (secret !== undefined) return readValueFile(`${name} in SECRETS_DIR`, secret, problems)
    const text = env[name]
    const file = env[`${name}_FILE`]
    if (!isSet(file) || declared.has(`${name}_FILE`)) return text
    if (!isSet(text)) return readValueFile(`${name}_FILE`, file, problems)
    problems.push(`${name} and ${name}_FILE are both set: unset one of them`)
    return text
  }
  const configs = specs.map((spec) => readTree(spec, textOf, problems))
  if (problems.length > 0) throw new ConfigError(problems)
  return configs as { readonly [Index in keyof Specs]: Config<Specs[Index]> }
}

/** The variables of a spec, in order. */
export const variablesOf = (spec: ConfigSpec): Variable[] =>
  Object.values(spec).flatMap((entry) => (isVariable(entry) ? [entry] : variablesOf(entry)))

const isSet = (text: string | undefined): text is string => text !== undefined && text.trim() !== ''

/** The paths of the files in `SECRETS_DIR`, by their names. */
const filesIn = (directory: string, problems: string[]): Map<string, string> => {
  try {
    return new Map(readdirSync(directory).map((name) => [name, path.join(directory, name)]))
  } catch (error) {
    problems.push(`SECRETS_DIR cannot be read: ${error instanceof Error ? error.message : error}`)
    return new Map()
  }
}

const readValueFile = (variable: string, file: string, problems: string[]): string | undefined => {
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    problems.push(`${variable} cannot be read: ${error instanceof Error ? error.message : error}`)
    return undefined
  }
}

const readTree = (
  spec: ConfigSpec,
  textOf: (name: string) => string | undefined,
  problems: string[],
): object => {
  const entries = Object.entries(spec).map(([name, entry]) => [
    name,
    isVariable(entry)
      ? readVariable(entry, textOf(entry.variable), problems)
      : readTree(entry, textOf, problems),
  ])
  return Object.freeze(Object.fromEntries(entries))
}

/** Compiled once, because tests read the same configuration many times. */
const validators = new WeakMap<TSchema, ValidateFunction>()

const validatorOf = (schema: TSchema): ValidateFunction => {
  const known = validators.get(schema)
  if (known) return known
  // Ajv coerces values and fills in defaults only within an object.
  const compiled = ajv.compile({ type: 'object', properties: { value: schema }, required: ['value'] })
  validators.set(schema, compiled)
  return compiled
}

const readVariable = (
  { variable, schema }: Variable,
  text: string | undefined,
  problems: string[],
): unknown => {
  const list = (schema as { type?: unknown }).type === 'array'
  const holder: { value?: unknown } = isSet(text)
    ? { value: list ? text.split(',').map((item) => item.trim()) : text }
    : {}
  const validate = validatorOf(schema)
  if (!validate(holder)) {
    const error = mainError(validate.errors ?? [])
    problems.push(`${variable} ${error ? describeError(error, { showReceived: false }) : 'is not valid'}`)
  }
  return holder.value
}
