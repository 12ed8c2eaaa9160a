import type { ValidationItem } from '@waymark/contracts'
import { isSafePattern } from 'redos-detector'
import { isDeeperThan } from '../ingestion/json-depth.ts'

/** Bytes of a schema: the UTF-8 length of its compact JSON. */
export const MAX_SCHEMA_BYTES = 64 * 1024
/** Levels of nesting in a schema. */
export const MAX_SCHEMA_DEPTH = 32
/** Subschemas after every reference has been followed; a few lines of references can stand for millions. */
export const MAX_SCHEMA_NODES = 10_000
const MAX_PATTERNS = 50
const PATTERN_CHECK_MS = 500

// References by name could leave the schema, or change their meaning with where they are followed from.
const REFUSED_KEYWORDS = [
  '$id',
  '$anchor',
  '$dynamicRef',
  '$dynamicAnchor',
  '$recursiveRef',
  '$recursiveAnchor',
  '$vocabulary',
]

type Node = { [keyword: string]: unknown }

/** What makes a schema unfit to be run on every event: empty when it is safe. The first problem found is enough. */
export const schemaProblems = (schema: unknown): ValidationItem[] => {
  const problem = (message: string, actual?: unknown): ValidationItem[] => [
    { field: 'schema', rule: 'unsafe_schema', message, ...(actual !== undefined && { actual }) },
  ]
  if (!isNode(schema)) return problem('must be a JSON Schema object')
  if (isDeeperThan(schema, MAX_SCHEMA_DEPTH))
    return problem(`is nested deeper than ${MAX_SCHEMA_DEPTH} levels`)
  if (Buffer.byteLength(JSON.stringify(schema)) > MAX_SCHEMA_BYTES)
    return problem(`is larger than ${MAX_SCHEMA_BYTES} bytes`)
  const nodes = allNodes(schema)
  for (const node of nodes) {
    const refused = REFUSED_KEYWORDS.find(
      (keyword) => typeof node[keyword] === 'string' || typeof node[keyword] === 'boolean',
    )
    if (refused) return problem(`${refused} is not supported`)
    if (typeof node.$ref === 'string' && !node.$ref.startsWith('#'))
      return problem('$ref may only point into the schema', node.$ref)
    if (typeof node.$ref === 'string' && !isPointer(node.$ref))
      return problem('$ref is not a JSON pointer', node.$ref)
  }
  const size = expandedSize(schema)
  if (size === 'recursive') return problem('$ref must not lead back to itself')
  if (size > MAX_SCHEMA_NODES)
    return problem(`has over ${MAX_SCHEMA_NODES} parts once its references are followed`)
  const pattern = unsafePattern(nodes)
  return pattern === undefined
    ? []
    : problem('has a pattern that could take exponential time, or too many patterns', pattern)
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Every object inside a schema, whatever it stands for: too many to look at is better than one too few. */
const allNodes = (root: unknown): Node[] => {
  if (Array.isArray(root)) return root.flatMap(allNodes)
  return isNode(root) ? [root, ...Object.values(root).flatMap(allNodes)] : []
}

const isPointer = (text: string): boolean => {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

const resolve = (root: Node, pointer: string): unknown => {
  const steps = pointer.slice(1).split('/').slice(1)
  return steps.reduce<unknown>((value, step) => {
    const key = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
    return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
      ? (value as Node)[key]
      : undefined
  }, root)
}

/** How many objects a schema consists of once its references are followed, or that this would never end. */
export const expandedSize = (root: Record<string, unknown>): number | 'recursive' => {
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
    const found = sizeOf(resolve(root, pointer))
    following.delete(pointer)
    known.set(pointer, found)
    return found
  }
  const sizeOf = (value: unknown): number => {
    if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + sizeOf(item), 0)
    if (!isNode(value)) return 0
    const own = typeof value.$ref === 'string' ? sizeOfTarget(value.$ref) : 0
    return Object.values(value).reduce<number>((sum, child) => sum + sizeOf(child), 1 + own)
  }

  const size = sizeOf(root)
  return recursive ? 'recursive' : size
}

const unsafePattern = (nodes: readonly Node[]): string | undefined => {
  const patterns = new Set(
    nodes.flatMap((node) => [
      ...(typeof node.pattern === 'string' ? [node.pattern] : []),
      ...(isNode(node.patternProperties) ? Object.keys(node.patternProperties) : []),
    ]),
  )
  if (patterns.size > MAX_PATTERNS) return `${patterns.size} patterns`
  const deadline = performance.now() + PATTERN_CHECK_MS
  return [...patterns].find((pattern) => !isSafe(pattern, deadline - performance.now()))
}

const isSafe = (pattern: string, timeout: number): boolean => {
  if (timeout <= 0) return false
  try {
    return isSafePattern(pattern, { unicode: true, timeout, maxScore: 1_000 }).safe
  } catch {
    // Not a regular expression at all.
    return false
  }
}
