import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  MAX_SCHEMA_BYTES,
  MAX_SCHEMA_DEPTH,
  MAX_SCHEMA_PARTS,
  MAX_SCHEMA_PATTERNS,
} from '@waymark/contracts/http/event-definitions'
import type { ValidationItem } from '@waymark/contracts/http/track-result'
import { isSafePattern } from 'redos-detector'
import { isDeeperThan, weightOf } from '../json/client-json.ts'
import { isSchemaObject as isNode, positionsIn, stepsOf, vocabularyProblem } from './schema-vocabulary.ts'

/** Maximum subschemas with references resolved. A few nested references can expand to millions. */
export const MAX_SCHEMA_NODES = 10_000
/**
 * Maximum steps of the analysis of a pattern. Steps instead of time, so that the result does not depend on the machine.
 * Common patterns take under 800; this many take a tenth of a second.
 */
const MAX_PATTERN_STEPS = 1_000
/** Maximum size of a schema that is quick to check, in bytes. */
const MAX_QUICK_BYTES = 4_096

type Node = { [keyword: string]: unknown }

const problem = (message: string, actual?: unknown): ValidationItem[] => [
  { field: 'schema', rule: 'unsafe_schema', message, ...(actual !== undefined && { actual }) },
]

/**
 * The first problem that makes a schema unsafe to run on every event. Empty when it is safe. Analyzing patterns may take
 * seconds, in several turns of the event loop.
 */
export const schemaProblems = async (schema: unknown): Promise<ValidationItem[]> => {
  const problems = structureProblems(schema)
  if (problems.length > 0 || !isNode(schema)) return problems
  for (const pattern of patternsIn(schema)) {
    // A new turn frees the memory of the analysis of the previous pattern.
    await nextTurn()
    const reason = patternProblem(pattern)
    if (reason) return problem(reason, pattern)
  }
  return []
}

/** Like `schemaProblems`, without analyzing patterns: only their number is checked. */
export const structureProblems = (schema: unknown): ValidationItem[] => {
  if (!isNode(schema)) return problem('must be a JSON Schema object')
  if (isDeeperThan(schema, MAX_SCHEMA_DEPTH))
    return problem(`is nested deeper than ${MAX_SCHEMA_DEPTH} levels`)
  if (Buffer.byteLength(JSON.stringify(schema)) > MAX_SCHEMA_BYTES)
    return problem(`is larger than ${MAX_SCHEMA_BYTES} bytes`)
  const unsupported = vocabularyProblem(schema)
  if (unsupported) return [unsupported]
  const size = expandedSize(schema)
  if (size === 'recursive') return problem('$ref must not lead back to itself')
  if (size > MAX_SCHEMA_NODES)
    return problem(`has over ${MAX_SCHEMA_NODES} parts once its references are followed`)
  const parts = partsOf(schema)
  if (parts > MAX_SCHEMA_PARTS)
    return problem(
      `has ${Math.ceil(parts)} keywords and members, of which ${MAX_SCHEMA_PARTS} are allowed; leave inner objects open, or ` +
        'share definitions by $ref',
    )
  const patterns = patternsIn(schema)
  if (patterns.size > MAX_SCHEMA_PATTERNS)
    return problem(`has ${patterns.size} different patterns, of which ${MAX_SCHEMA_PATTERNS} are allowed`)
  return []
}

/**
 * Whether a schema is small and has no patterns, so that checking it takes about 20 ms, or is refused at once because it is
 * nested too deeply.
 */
export const isQuickToCheck = (schema: object): boolean =>
  isDeeperThan(schema, MAX_SCHEMA_DEPTH) ||
  (Buffer.byteLength(JSON.stringify(schema)) <= MAX_QUICK_BYTES && patternsIn(schema).size === 0)

/** The value at a JSON pointer in a fragment, such as `#/properties/a`, or `undefined`. */
export const resolvePointer = (root: unknown, pointer: string): unknown =>
  stepsOf(pointer)?.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, key)
        ? (value as Node)[key]
        : undefined,
    root,
  )

/** Keywords that do not validate. */
const ANNOTATIONS = new Set(
  'title description default examples $comment deprecated readOnly writeOnly'.split(' '),
)

/** The number of keywords and members in a schema, which determines the time to compile it. */
export const partsOf = (schema: unknown): number => {
  if (Array.isArray(schema)) return schema.reduce<number>((sum, item) => sum + partsOf(item), 0)
  if (!isNode(schema)) return 0
  return Object.entries(schema).reduce((sum, [keyword, value]) => {
    if (ANNOTATIONS.has(keyword) && !isNode(value)) return sum
    // Short lists are compiled into one comparison per entry, long ones into a lookup.
    const values = Array.isArray(value) ? value.filter((item) => !isNode(item)).length : 0
    const branches = Array.isArray(value) ? value.filter(isNode).length : 0
    const own = (COMPILE_COSTS.get(keyword) ?? 1) + branches * (keyword === 'oneOf' ? 4 : 1)
    return sum + own + Math.min(values, 200) / (keyword === 'enum' ? 10 : 2) + partsOf(value)
  }, 0)
}

/** Number of parts of a keyword. */
const COMPILE_COSTS: ReadonlyMap<string, number> = new Map([
  ['format', 3],
  ['pattern', 3],
  ['contains', 4],
  ['propertyNames', 4],
  ['$ref', 2],
  ['if', 2],
  ['uniqueItems', 2],
])

/** Additional steps of keywords. */
const KEYWORD_COSTS: ReadonlyMap<string, number> = new Map([
  ['format', 20],
  ['pattern', 20],
  ['uniqueItems', 20],
  ['multipleOf', 20],
  ['contains', 10],
  ['propertyNames', 10],
  ['unevaluatedProperties', 20],
  ['unevaluatedItems', 20],
  ['dependentRequired', 5],
])

/** Maximum steps of a schema per value, with references resolved. */
export const runCost = (schema: object): number => Number(expandedSize({ ...schema }, keywordCosts))

const keywordCosts = (node: Node): number =>
  Object.entries(node).reduce((sum, [keyword, value]) => {
    if (keyword === 'enum' || keyword === 'const') return sum + costOfValues(value)
    if (keyword === 'patternProperties' && isNode(value)) return sum + 20 * Object.keys(value).length
    // Each branch that does not match creates an error, even if another one matches.
    if ((keyword === 'anyOf' || keyword === 'oneOf') && Array.isArray(value)) return sum + 10 * value.length
    const names = Array.isArray(value) ? value.filter((item) => typeof item === 'string').length / 5 : 0
    return sum + (KEYWORD_COSTS.get(keyword) ?? 0) + Math.floor(names)
  }, 0)

/** Steps of comparing with values. Strings and numbers are cheap; objects are compared deeply. */
const costOfValues = (values: unknown): number =>
  (Array.isArray(values) ? values : [values]).reduce<number>(
    (sum, value) => sum + (typeof value === 'object' ? weightOf(value) : 0.2),
    0,
  )

/** The number of objects in a schema with references resolved. Infinite for recursive references. */
export const expandedSize = (
  root: Record<string, unknown>,
  extraOf: (node: Node) => number = () => 0,
): number | 'recursive' => {
  const known = new Map<string, number>()
  const following = new Set<string>()
  let recursive = false

  const sizeOfTarget = (pointer: string): number => {
    const size = known.get(pointer)
    if (size !== undefined) return size
    if (following.has(pointer)) {
      recursive = true
      return 0
    }
    following.add(pointer)
    const found = sizeOf(resolvePointer(root, pointer))
    following.delete(pointer)
    known.set(pointer, found)
    return found
  }
  const sizeOf = (value: unknown): number => {
    if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + sizeOf(item), 0)
    if (!isNode(value)) return 0
    const own = typeof value.$ref === 'string' ? sizeOfTarget(value.$ref) : 0
    return Object.values(value).reduce<number>((sum, child) => sum + sizeOf(child), 1 + own + extraOf(value))
  }

  const size = sizeOf(root)
  return recursive ? 'recursive' : size
}

const patternsIn = (schema: object): Set<string> =>
  new Set(
    positionsIn(schema).flatMap(({ schema: { pattern, patternProperties } }) => [
      ...(typeof pattern === 'string' ? [pattern] : []),
      ...(isNode(patternProperties) ? Object.keys(patternProperties) : []),
    ]),
  )

/** Why a pattern is unsafe for values of clients, or `undefined`. */
const patternProblem = (pattern: string): string | undefined => {
  try {
    // Without a time limit, because a busy machine would refuse what an idle one accepts.
    const limits = { maxSteps: MAX_PATTERN_STEPS, maxScore: 1_000 }
    if (!isSafePattern(pattern, { unicode: true, ...limits }).safe) return UNSAFE_PATTERN
    return lookaroundReach(pattern) > MAX_LOOKAROUND_REACH ? LONG_LOOKAROUND : undefined
  } catch {
    return `has a pattern that is no regular expression${needlessEscape(pattern)}`
  }
}

/**
 * Maximum characters that a lookahead or lookbehind may read at each position of a text. One that reads to the end takes
 * quadratic time, which the analysis of patterns does not count.
 */
const MAX_LOOKAROUND_REACH = 1_000

/** The parts of a pattern with a meaning here: escapes, classes, quantifiers with and without a limit, and groups. */
const PATTERN_PARTS = /\\.|\[(?:\\.|[^\]\\])*\]|([*+]|\{\d+,\})|\{(?:\d+,)?(\d+)\}|(\((?:\?<?[=!])?)|(\))/gsu

/**
 * At least as many characters as any lookaround of a valid pattern reads: its length times the limits of its quantifiers.
 * Lookaheads at the start, as in `^(?=.*\d)(?=.*[a-z])`, run once and do not count.
 */
const lookaroundReach = (pattern: string): number => {
  const open: { start: number; counted: boolean; atStart: boolean }[] = []
  let startEnds = pattern.startsWith('^') ? 1 : 0
  let factor = 1
  let reach = 0
  for (const { 0: found, 1: unlimited, 2: limit, 3: group, 4: close, index } of pattern.matchAll(
    PATTERN_PARTS,
  )) {
    const isCounted = open.some(({ counted }) => counted)
    if (group !== undefined) {
      const atStart = open.length === 0 && startEnds > 0 && index === startEnds && /^\(\?[=!]/.test(found)
      const counted = group !== '(' && !atStart
      if (counted && !isCounted) factor = 1
      open.push({ start: index, counted, atStart })
    } else if (close !== undefined) {
      const closed = open.pop()
      if (closed?.atStart) startEnds = index + 1
      if (closed?.counted) reach = Math.max(reach, (index - closed.start) * factor)
    } else if (isCounted) {
      if (unlimited !== undefined) return Number.POSITIVE_INFINITY
      if (limit !== undefined) factor *= Math.max(1, Number(limit))
    }
  }
  return reach
}

/** Of each escape, the backslash and what follows it. Group 1 is an escape that no regular expression knows. */
const ESCAPES = /\\(?:u\{[0-9a-f]+\}|[\^$\\.*+?()[\]{}|/dDsSwWbBpPkfnrtvcxu0-9]|(.))/giu

/** Which escape makes a pattern invalid. With the flag `u`, only characters with a meaning may be escaped. */
const needlessEscape = (pattern: string): string => {
  for (const { 0: found, 1: character, index } of pattern.matchAll(ESCAPES)) {
    if (character === undefined || (character === '-' && isInClass(pattern, index))) continue
    return `: the character ${character} needs no escape; write ${character} instead of ${found} at position ${index + 1}`
  }
  return ''
}

/** Whether a position of a pattern is inside of brackets, in which a hyphen may be escaped. */
const isInClass = (pattern: string, index: number): boolean => {
  let inside = false
  for (let at = 0; at < index; at++) {
    if (pattern[at] === '\\') at++
    else if (pattern[at] === '[') inside = true
    else if (pattern[at] === ']') inside = false
  }
  return inside
}

const LONG_LOOKAROUND =
  'has a pattern with a lookahead or lookbehind that could read the whole text at each position; move a lookahead to the ' +
  'start, directly after ^, or give its repetitions small limits such as {0,9}'

const UNSAFE_PATTERN =
  'has a pattern that could take exponential time or is too complex to tell; use one with fewer repetitions and ' +
  'alternatives, in which no two repetitions can match the same text'
