import type { TSchema } from 'typebox'

/**
 * Sets `additionalProperties` on every object in a schema that does not set it: false with declared members, and true
 * without any.
 */
export const closeObjects = <S extends TSchema>(schema: S): S => close(schema, false) as S

/** The schema with `additionalProperties: true` on every object that declares no members. */
export const openObjects = (schema: TSchema): TSchema => close(schema, undefined) as TSchema

// `declared` is the value for objects with declared members; undefined does not change them.
const close = (schema: unknown, declared: false | undefined): unknown => {
  if (Array.isArray(schema)) return schema.map((part) => close(part, declared))
  if (!isObject(schema)) return schema
  const { properties, items, anyOf, additionalProperties } = schema
  const isObjectSchema = [schema.type].flat().includes('object')
  const rest = properties === undefined ? true : declared
  return {
    ...schema,
    ...(isObject(properties) && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, property]) => [name, close(property, declared)]),
      ),
    }),
    ...(items !== undefined && { items: close(items, declared) }),
    ...(anyOf !== undefined && { anyOf: close(anyOf, declared) }),
    ...(isObjectSchema &&
      (additionalProperties === undefined
        ? rest !== undefined && { additionalProperties: rest }
        : { additionalProperties: close(additionalProperties, declared) })),
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
