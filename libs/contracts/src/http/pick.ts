import type { Static, TSchema } from 'typebox'
import type { Sendable } from './operation.ts'

/** A record with members of an answer; columns that hold JSON are not checked. */
type Pickable<T> = { [Name in keyof T]?: NonNullable<T[Name]> extends object ? unknown : Sendable<T[Name]> }

/** The members of the record that the answer has. A column that holds JSON gets the type of the schema. */
type Picked<R, T> = {
  [Name in keyof T & keyof R]: NonNullable<T[Name]> extends object ? Sendable<T[Name]> : R[Name]
}

type Choose = (value: unknown) => unknown

/**
 * Copies what the schema of an answer declares, at any depth, so that a column that is added to a table appears in no
 * answer until a schema names it. Objects without declared members are kept whole, and so are times (`Date`). Members that
 * the record lacks are left out.
 */
export const pick = <S extends TSchema, R extends Pickable<Static<S>>>(
  record: R,
  schema: S,
): Picked<R, Static<S>> => chooserOf(schema)(record) as Picked<R, Static<S>>

const compiled = new WeakMap<object, Choose>()

const chooserOf = (schema: TSchema): Choose => {
  const known = compiled.get(schema)
  if (known) return known
  const choose = compile([schema])
  compiled.set(schema, choose)
  return choose
}

const keep: Choose = (value) => value

/** Alternatives together allow the members of each of them. */
const compile = (alternatives: readonly TSchema[]): Choose => {
  const parts = alternatives.flatMap(partsOf)
  const chooseObject = compileObject(parts.filter((part) => typesOf(part).includes('object')))
  const items = parts.flatMap(({ items }) => (items === undefined ? [] : [items as TSchema]))
  const chooseItem = items.length === 0 ? keep : compile(items)
  if (chooseObject === keep && chooseItem === keep) return keep
  return (value) => {
    if (Array.isArray(value)) return value.map(chooseItem)
    return typeof value === 'object' && value !== null && !(value instanceof Date)
      ? chooseObject(value)
      : value
  }
}

type Part = {
  type?: string | readonly string[]
  properties?: Record<string, TSchema>
  additionalProperties?: boolean | TSchema
  patternProperties?: Record<string, TSchema>
  items?: unknown
}

const partsOf = (schema: TSchema): Part[] => {
  const { anyOf, allOf } = schema as { anyOf?: TSchema[]; allOf?: TSchema[] }
  return [schema as Part, ...(anyOf ?? []).flatMap(partsOf), ...(allOf ?? []).flatMap(partsOf)]
}

const typesOf = ({ type }: Part): readonly string[] => [type ?? []].flat()

const compileObject = (parts: readonly Part[]): Choose => {
  const declared = new Map<string, TSchema[]>()
  const others: TSchema[] = []
  let keepsOthers = false
  for (const { properties, additionalProperties, patternProperties } of parts) {
    for (const [name, member] of Object.entries(properties ?? {}))
      declared.set(name, [...(declared.get(name) ?? []), member])
    if (typeof additionalProperties === 'object') others.push(additionalProperties)
    others.push(...Object.values(patternProperties ?? {}))
    keepsOthers ||= additionalProperties === true || (properties === undefined && !additionalProperties)
  }
  if (declared.size === 0 && others.length === 0) return keep
  const choosers = new Map([...declared].map(([name, members]) => [name, compile(members)]))
  const chooseOther = others.length === 0 ? undefined : compile(others)
  return (value) =>
    Object.fromEntries(
      Object.entries(value as object).flatMap(([name, member]) => {
        const choose = choosers.get(name) ?? chooseOther ?? (keepsOthers ? keep : undefined)
        return choose ? [[name, choose(member)]] : []
      }),
    )
}
