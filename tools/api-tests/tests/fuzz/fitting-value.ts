import fc from 'fast-check'

type Schema = {
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  items?: Schema
  minItems?: number
  maxItems?: number
  minLength?: number
  maxLength?: number
  pattern?: string
  format?: string
  minimum?: number
  maximum?: number
}

// Not hundreds, because the time of some operations grows with the number.
const MOST = 20

const formats: Record<string, fc.Arbitrary<string>> = {
  uuid: fc.uuid(),
  'date-time': fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  'idn-email': fc.emailAddress(),
  uri: fc.webUrl({ withQueryParameters: true, withFragments: true }),
}

/** Values that mostly match a JSON Schema, for the keywords that operations use. */
export const fittingValue = (schema: Schema): fc.Arbitrary<unknown> => {
  if ('const' in schema) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(fittingValue))
  const types = Array.isArray(schema.type) ? schema.type : [schema.type]
  return fc.oneof(...types.map((type) => ofType(type, schema)))
}

const ofType = (type: string | undefined, schema: Schema): fc.Arbitrary<unknown> => {
  const { minimum = 0, maximum = minimum + MOST } = schema
  switch (type) {
    case 'null':
      return fc.constant(null)
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return fc.integer({ min: minimum, max: Math.min(maximum, minimum + MOST) })
    case 'number':
      return fc.double({ min: minimum, max: maximum, noNaN: true })
    case 'string':
      return text(schema)
    case 'array':
      return fc.array(fittingValue(schema.items ?? {}), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.max(schema.minItems ?? 0, Math.min(schema.maxItems ?? 3, 3)),
      })
    case 'object':
      return object(schema)
    default:
      return fc.jsonValue({ maxDepth: 2 })
  }
}

const text = ({ pattern, format, minLength = 0, maxLength = MOST }: Schema): fc.Arbitrary<string> => {
  if (format !== undefined && formats[format]) return formats[format]
  const any = fc.string({
    unit: 'grapheme',
    minLength,
    maxLength: Math.max(minLength, Math.min(maxLength, MOST)),
  })
  if (pattern === undefined) return any
  try {
    return fc.stringMatching(new RegExp(pattern))
  } catch {
    // Some patterns cannot be inverted by fast-check.
    return any
  }
}

const object = ({ properties = {}, required = [], additionalProperties }: Schema): fc.Arbitrary<object> => {
  const members = Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, fittingValue(schema)]),
  )
  const known = fc.record(members, { requiredKeys: required.filter((name) => name in members) })
  if (Object.keys(members).length > 0 || additionalProperties === false) return known
  const value =
    typeof additionalProperties === 'object'
      ? fittingValue(additionalProperties)
      : fc.jsonValue({ maxDepth: 1 })
  return fc.dictionary(fc.string({ maxLength: 10 }), value, { maxKeys: 4 })
}
