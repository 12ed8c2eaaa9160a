/** The allowed operations of JsonLogic. */
export const OPERATIONS: readonly string[] = [
  'var',
  'val',
  'exists',
  'missing',
  'missing_some',
  'if',
  '?:',
  'and',
  'or',
  '!',
  '!!',
  '??',
  '==',
  '===',
  '!=',
  '!==',
  '<',
  '<=',
  '>',
  '>=',
  '+',
  '-',
  '*',
  '/',
  '%',
  'min',
  'max',
  'map',
  'filter',
  'reduce',
  'all',
  'none',
  'some',
  'merge',
  'in',
  'length',
  'cat',
  'substr',
]

const allowed = new Set(OPERATIONS)
/** Operations that iterate over a list. Nesting them multiplies the work. */
const ITERATING = new Set(['map', 'filter', 'reduce', 'all', 'none', 'some'])
const READING = new Set(['var', 'val', 'exists', 'missing', 'missing_some'])
/** Operations that concatenate values. Within `reduce` the result could double with each item. */
const GROWING = new Set(['merge', 'cat'])

/** The context of a part of logic. */
type Place = { inList: boolean; inReducer: boolean }

/** What logic may use. `segments`: the operation `{ "segment": "<key>" }`, which is true for members of a segment. */
export type LogicOptions = { segments?: boolean }

/**
 * Checks that logic uses only allowed operations and paths. Call it before compiling logic, because that runs parts of it.
 * @throws Error with what is not allowed
 */
export const checkLogic = (logic: unknown, { segments = false }: LogicOptions = {}): void => {
  const check = (part: unknown, place: Place): void => {
    if (typeof part !== 'object' || part === null) return
    if (Array.isArray(part)) {
      if (place.inReducer && part.some((item) => typeof item === 'object' && item !== null))
        throw new Error('creates a list inside reduce')
      for (const item of part) check(item, place)
      return
    }
    const [[name, argument] = [], ...more] = Object.entries(part)
    if (name === undefined || more.length > 0)
      throw new Error('has an object that is not exactly one operation')
    if (segments && name === 'segment') {
      if (typeof argument !== 'string')
        throw new Error('has a segment that is not named by its key, a string')
      return
    }
    if (!allowed.has(name)) throw new Error(`has the unknown operation ${name}`)
    if (READING.has(name)) checkPaths(name, argument)
    if (place.inReducer && GROWING.has(name)) throw new Error(`uses ${name} inside reduce`)
    if (ITERATING.has(name) && place.inList)
      throw new Error('has a list operation inside another list operation')
    checkArguments(name, argument, place)
  }

  const checkArguments = (name: string, argument: unknown, place: Place): void => {
    const list = Array.isArray(argument) ? argument : [argument]
    list.forEach((part, index) => {
      // The path is already checked. The second argument of `var` is the default.
      if (READING.has(name) && !(name === 'var' && index === 1)) return
      check(part, {
        inList: place.inList || ITERATING.has(name),
        inReducer: place.inReducer || (name === 'reduce' && index === 1),
      })
    })
  }

  check(logic, { inList: false, inReducer: false })
}

/** Paths must be constant and must not name inherited members. */
const checkPaths = (name: string, argument: unknown): void => {
  const list = Array.isArray(argument) ? argument : [argument]
  for (const part of (name === 'var' ? list.slice(0, 1) : list).flat()) {
    if (typeof part === 'object' && part !== null)
      throw new Error(`computes the path that ${name} reads; it must be a constant`)
    const inherited = String(part).split(/[./]/).find(isInherited)
    if (inherited !== undefined) throw new Error(`reads ${inherited}`)
  }
}

const isInherited = (name: string): boolean => name in Object.prototype || name === 'prototype'
