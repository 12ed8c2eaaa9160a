import { createHash } from 'node:crypto'
import { type ConfigurationResource, configurationFields } from '@waymark/contracts/configuration'

/** A JSON Schema, as far as this file looks at it. */
type Schema = {
  type?: string | string[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  enum?: unknown[]
  additionalProperties?: Schema | boolean
}
export type Fields = Record<string, unknown>

export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The schema of all fields of a resource. */
export const schemaOf = (resource: ConfigurationResource): Schema => ({
  type: 'object',
  properties: configurationFields(resource) as Record<string, Schema>,
  required: (resource.create?.body?.schema as Schema | undefined)?.required ?? [],
})

/** Whether a field may be null. Anything may where a schema does not say more. */
export const allowsNull = (schema: Schema | undefined): boolean => {
  if (schema === undefined) return false
  const { type, anyOf, enum: values } = schema
  if (values !== undefined) return values.includes(null)
  if (type !== undefined) return [type].flat().includes('null')
  return anyOf === undefined || anyOf.some((branch) => branch.type === 'null')
}

/** The part of a schema that describes objects, or lists. */
const branchOf = (schema: Schema | undefined, part: 'object' | 'array'): Schema | undefined =>
  [schema, ...(schema?.anyOf ?? [])].find((one) => one !== undefined && [one.type].flat().includes(part))

/**
 * A value without what says nothing: optional members that are null, empty lists below the first level, and what the API
 * stores by default. Members are in the order of the schema.
 */
export const compact = (
  schema: Schema | undefined,
  value: unknown,
  defaults: Readonly<Record<string, unknown>>,
  path = '',
): unknown => {
  if (Array.isArray(value)) {
    const { items } = branchOf(schema, 'array') ?? {}
    return value.map((item) => compact(items, item, defaults, `${path}[]`))
  }
  if (!isObject(value)) return value
  const { properties, required = [] } = branchOf(schema, 'object') ?? {}
  if (properties === undefined)
    return mapMembers(value, (member) => compact(membersOf(schema), member, defaults, `${path}.*`))
  const names = [
    ...Object.keys(properties).filter((name) => name in value),
    ...namesBeside(value, properties),
  ]
  return Object.fromEntries(
    names.flatMap((name) => {
      const at = path === '' ? name : `${path}.${name}`
      const member = compact(properties[name], value[name], defaults, at)
      const saysNothing =
        member === undefined ||
        (!required.includes(name) && (member === null || (path !== '' && isEmptyList(member)))) ||
        (defaults[at] !== undefined && isEqual(defaults[at], member))
      return saysNothing ? [] : [[name, member]]
    }),
  )
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0
const namesBeside = (value: Fields, properties: object): string[] =>
  Object.keys(value).filter((name) => !(name in properties))
const mapMembers = (value: Fields, map: (member: unknown) => unknown): Fields =>
  Object.fromEntries(Object.entries(value).map(([name, member]) => [name, map(member)]))

/**
 * What a resource is to be: the fields of a file, and of the stored one those that the file cannot leave empty or that the
 * API has generated.
 */
export const completed = (resource: ConfigurationResource, wanted: Fields, stored: Fields): Fields => {
  const schema = schemaOf(resource)
  const { defaults = {}, initial = [], kind } = resource
  const isKept = (at: string, member: Schema | undefined): boolean =>
    at in defaults
      ? defaults[at] === undefined
      : !at.includes('.') && !at.includes('[') && kind !== 'settings' && !allowsNull(member)
  const fill = (of: Schema | undefined, value: unknown, from: unknown, path: string): unknown => {
    if (Array.isArray(value) && Array.isArray(from)) {
      const { items } = branchOf(of, 'array') ?? {}
      return value.map((item, index) => fill(items, item, from[index], `${path}[]`))
    }
    if (!isObject(value) || !isObject(from)) return value
    const { properties } = branchOf(of, 'object') ?? {}
    const schemaAt = (name: string) => properties?.[name] ?? membersOf(of)
    const at = (name: string) => [path, properties ? name : '*'].filter(Boolean).join('.')
    const filled = Object.entries(value).map(([name, member]) => [
      name,
      fill(schemaAt(name), member, from[name], at(name)),
    ])
    const kept = Object.entries(from).filter(
      ([name]) => !(name in value) && properties !== undefined && isKept(at(name), properties[name]),
    )
    return { ...Object.fromEntries(filled), ...Object.fromEntries(kept) }
  }
  const all = fill(schema, wanted, stored, '') as Fields
  // What matters only when it is created stays what it is.
  const first = Object.entries(stored).filter(([name]) => initial.includes(name))
  return { ...omit(all, initial), ...Object.fromEntries(first) }
}

/** The schema of the members of a map. */
const membersOf = (schema: Schema | undefined): Schema | undefined => {
  const { additionalProperties } = branchOf(schema, 'object') ?? {}
  return typeof additionalProperties === 'object' ? additionalProperties : undefined
}

export const omit = (fields: Fields, names: readonly string[]): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))

/** JSON in which the order of members does not matter. */
export const canonical = (value: unknown): string =>
  JSON.stringify(value, (_name, member: unknown) =>
    isObject(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  ) ?? 'null'

export const isEqual = (a: unknown, b: unknown): boolean => canonical(a) === canonical(b)

/** A short hash of a value. */
export const hashOf = (value: unknown): string =>
  createHash('sha256').update(canonical(value)).digest('hex').slice(0, 32)

/**
 * A value for a request that makes `before` to `after`: null for each member that goes, where the schema allows that.
 */
export const patchValue = (schema: Schema | undefined, after: unknown, before: unknown): unknown => {
  if (!isObject(after) || !isObject(before)) return after
  const { properties = {} } = branchOf(schema, 'object') ?? {}
  const schemaOfMember = (name: string) => properties[name] ?? membersOf(schema)
  const gone = Object.keys(before).filter((name) => !(name in after) && allowsNull(schemaOfMember(name)))
  const kept = Object.entries(after).map(([name, member]) => [
    name,
    patchValue(schemaOfMember(name), member, before[name]),
  ])
  return { ...Object.fromEntries(kept), ...Object.fromEntries(gone.map((name) => [name, null])) }
}

/** Replaces what is at a path such as `variants[].couponPoolId`. */
export const replaceAt = (value: unknown, path: string, replace: (found: unknown) => unknown): unknown => {
  if (path === '') return value === null || value === undefined ? value : replace(value)
  const [, name = '', list = '', rest = ''] = /^([^.[]*)(\[\])?\.?(.*)$/.exec(path) ?? []
  if (name === '') return value
  if (!isObject(value) || !(name in value)) return value
  const member = value[name]
  const replaced =
    list === ''
      ? replaceAt(member, rest, replace)
      : Array.isArray(member)
        ? member.map((item) => (rest === '' ? replace(item) : replaceAt(item, rest, replace)))
        : member
  return { ...value, [name]: replaced }
}
