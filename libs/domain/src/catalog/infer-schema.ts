import { MAX_SCHEMA_PARTS } from '@waymark/contracts'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { structureProblems } from './schema-safety.ts'

type Schema = Record<string, unknown>
type TypeName = 'null' | 'boolean' | 'integer' | 'number' | 'string' | 'array' | 'object'

/** What was seen at one place of the sampled values. */
type Seen = {
  count: number
  types: Map<TypeName, number>
  /** How often each text was there, or `undefined` once they are too many or too long for a list. */
  texts: Map<string, number> | undefined
  /** Formats that every text had so far. */
  formats: readonly string[]
  /** What was seen under each name in objects, or `undefined` once names are data rather than structure. */
  members: Map<string, Seen> | undefined
  items: Seen | undefined
}

/** More distinct texts than this are no enumeration, nor are longer ones, nor those that are hardly repeated. */
const MAX_ENUM_VALUES = 10
const MAX_ENUM_TEXT = 64
const MIN_REPEATS = 5
/** More names than this in one object are data, such as ids. */
const MAX_NAMES = 200
const MAX_NAME_LENGTH = 200
/** What lies deeper is left open, and more of it if the schema gets too large to be saved. */
const DEPTHS = [8, 4, 2, 1] as const
/**
 * Places that are remembered; with more, the deepest are forgotten. Each is at least one part of a schema, so that many
 * more could not be saved, unless their names turn out to be data.
 */
const MAX_PLACES = 20 * MAX_SCHEMA_PARTS

// The formats as the catalog checks them, the narrow ones first.
const ajv = addFormats.default(new Ajv2020())
const FORMATS = ['date-time', 'date', 'uuid', 'email', 'uri']
const checks = new Map(FORMATS.map((format) => [format, ajv.compile({ type: 'string', format })]))

const nothingSeen = (): Seen => ({
  count: 0,
  types: new Map(),
  texts: new Map(),
  formats: FORMATS,
  members: new Map(),
  items: undefined,
})

/** How deep examples are looked into, and at most how many places that has made so far. */
type Memory = { depth: number; places: number }

/**
 * Learns a JSON Schema from examples, in memory that does not grow with their number. Every example that was added fits
 * the schema; beyond that it says what all of them have in common: types, required members, formats, and enumerations
 * where few texts are repeated often.
 */
export const createSchemaInference = () => {
  const root = nothingSeen()
  const memory: Memory = { depth: DEPTHS[0], places: 0 }
  return {
    add: (properties: Record<string, unknown>): void => {
      see(root, properties, 0, memory)
      if (memory.places > MAX_PLACES) forgetDeepest(root, memory)
    },
    /** The schema of what was added so far, without patterns; one that may be saved as an event's definition. */
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

/** Forgets what lies deeper, and answers how many places remain. */
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
    // What every object inherits looks to a validator as if it were always there.
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

/** The texts that there are, if they are few and repeated; an enumeration has a say on every type. */
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
