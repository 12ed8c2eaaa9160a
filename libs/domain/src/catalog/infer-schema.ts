import { MAX_SCHEMA_PARTS } from '@waymark/contracts/http/event-definitions'
import { createSchemaCompiler } from './schema-compiler.ts'
import { structureProblems } from './schema-safety.ts'
import { DEFAULT_DRAFT } from './schema-vocabulary.ts'

type Schema = Record<string, unknown>
type TypeName = 'null' | 'boolean' | 'integer' | 'number' | 'string' | 'array' | 'object'

/** Statistics of one position in the examples. */
type Seen = {
  count: number
  types: Map<TypeName, number>
  /** The count of each string, or `undefined` once there are too many for an enumeration. */
  texts: Map<string, number> | undefined
  /** Formats of all strings so far. */
  formats: readonly string[]
  /** The members of objects, or `undefined` once their names are data. */
  members: Map<string, Seen> | undefined
  items: Seen | undefined
}

/** Limits of an enumeration: distinct strings, their length, and how often they repeat. */
const MAX_ENUM_VALUES = 10
const MAX_ENUM_TEXT = 64
const MIN_REPEATS = 5
/** Beyond this number of names in one object, they are data such as ids. */
const MAX_NAMES = 200
const MAX_NAME_LENGTH = 200
/** Deeper values are not described. The depth decreases if the schema would become too large. */
const DEPTHS = [8, 4, 2, 1] as const
/**
 * Maximum positions in memory. Beyond it the deepest are dropped. Each is at least one part of the schema, which has a
 * maximum too.
 */
const MAX_PLACES = 20 * MAX_SCHEMA_PARTS

// The formats of the catalog, the most specific first.
const compiler = createSchemaCompiler(DEFAULT_DRAFT)
const FORMATS = ['date-time', 'date', 'uuid', 'email', 'uri']
const checks = new Map(FORMATS.map((format) => [format, compiler.compile({ type: 'string', format })]))

const nothingSeen = (): Seen => ({
  count: 0,
  types: new Map(),
  texts: new Map(),
  formats: FORMATS,
  members: new Map(),
  items: undefined,
})

/** The current depth limit, and an upper bound of the number of positions. */
type Memory = { depth: number; places: number }

/**
 * Infers a JSON Schema from examples, in constant memory. Every example matches the schema, which describes what they have
 * in common: types, required members, formats, and enumerations of a few repeated strings.
 */
export const createSchemaInference = () => {
  const root = nothingSeen()
  const memory: Memory = { depth: DEPTHS[0], places: 0 }
  return {
    add: (properties: Record<string, unknown>): void => {
      see(root, properties, 0, memory)
      if (memory.places > MAX_PLACES) forgetDeepest(root, memory)
    },
    /** The schema of the examples so far. It has no patterns and can be saved as an event definition. */
    schema: (): Schema =>
      DEPTHS.filter((depth) => depth <= memory.depth)
        .map((depth) => schemaOf(root, depth))
        .find((schema) => structureProblems(schema).length === 0) ?? { type: 'object' },
  }
}

const see = (seen: Seen, value: unknown, depth: number, memory: Memory): void => {
  const type = typeOf(value)
  seen.count++
  seen.types.set(type, (seen.types.get(type) ?? 0) + 1)
  if (typeof value === 'string') seeText(seen, value)
  if (depth === memory.depth || typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    if (!seen.items) memory.places++
    seen.items ??= nothingSeen()
    for (const item of value) see(seen.items, item, depth + 1, memory)
  } else seeMembers(seen, value, depth, memory)
}

const forgetDeepest = (root: Seen, memory: Memory): void => {
  for (const depth of DEPTHS.filter((depth) => depth <= memory.depth)) {
    memory.depth = depth
    memory.places = keepPlaces(root, depth)
    if (memory.places <= MAX_PLACES) return
  }
}

/** Drops deeper positions. Returns the number of remaining ones. */
const keepPlaces = (seen: Seen, depth: number): number => {
  if (depth === 0) {
    seen.members = undefined
    seen.items = undefined
  }
  const inside = [...(seen.members?.values() ?? []), ...(seen.items ? [seen.items] : [])]
  return inside.reduce((sum, place) => sum + keepPlaces(place, depth - 1), 1)
}

const seeText = (seen: Seen, text: string): void => {
  seen.formats = seen.formats.filter((format) => checks.get(format)?.(text))
  if (!seen.texts) return
  seen.texts.set(text, (seen.texts.get(text) ?? 0) + 1)
  if (seen.texts.size > MAX_ENUM_VALUES || text.length > MAX_ENUM_TEXT) seen.texts = undefined
}

const seeMembers = (seen: Seen, value: object, depth: number, memory: Memory): void => {
  for (const [name, member] of Object.entries(value)) {
    if (!seen.members) return
    // A validator also finds inherited members such as `constructor`.
    if (name in Object.prototype || name.length > MAX_NAME_LENGTH) continue
    const known = seen.members.get(name) ?? nothingSeen()
    if (!seen.members.has(name)) memory.places++
    seen.members.set(name, known)
    see(known, member, depth + 1, memory)
    if (seen.members.size > MAX_NAMES) seen.members = undefined
  }
}

const typeOf = (value: unknown): TypeName => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  if (typeof value === 'boolean' || typeof value === 'string') return typeof value as TypeName
  return 'object'
}

const schemaOf = (seen: Seen, depth: number): Schema => {
  const types = [...seen.types.keys()]
    .filter((type) => type !== 'integer' || !seen.types.has('number'))
    .sort()
  const texts = enumerated(seen)
  const [format] = seen.types.has('string') ? seen.formats : []
  return {
    type: types.length === 1 ? types[0] : types,
    ...(texts && { enum: seen.types.has('null') ? [...texts, null] : texts }),
    ...(!texts && format && { format }),
    ...(depth > 0 && seen.types.has('object') && membersOf(seen, depth)),
    ...(depth > 0 && seen.items && seen.items.count > 0 && { items: schemaOf(seen.items, depth - 1) }),
  }
}

/** The strings, if they form an enumeration. Only if all values are strings, because `enum` applies to every type. */
const enumerated = ({ types, texts }: Seen): string[] | undefined => {
  const strings = types.get('string') ?? 0
  const onlyTexts = [...types.keys()].every((type) => type === 'string' || type === 'null')
  if (!texts || strings === 0 || !onlyTexts) return undefined
  return [...texts.values()].every((count) => count >= MIN_REPEATS) ? [...texts.keys()].sort() : undefined
}

const membersOf = ({ types, members }: Seen, depth: number): Schema => {
  const named = [...(members ?? [])].sort(([a], [b]) => (a < b ? -1 : 1))
  const required = named.filter(([, { count }]) => count === types.get('object')).map(([name]) => name)
  return {
    ...(named.length > 0 && {
      properties: Object.fromEntries(named.map(([name, seen]) => [name, schemaOf(seen, depth - 1)])),
    }),
    ...(required.length > 0 && { required }),
  }
}
