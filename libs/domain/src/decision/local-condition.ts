/** Why a condition cannot be evaluated by flagd's providers as Waymark evaluates it. */
export class NotLocalError extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.name = 'NotLocalError'
    this.code = code
  }
}

type Logic = unknown
/** Logic and the characters of its JSON, about. */
type Part = { logic: Logic; size: number }
/**
 * When a part of a condition is true, and when it is false. Neither holds when evaluating it would fail, which makes the whole
 * condition false in Waymark and is an error in providers. A `total` part never fails.
 */
type Cases = { yes: Part; no: Part; total: boolean }

/** Most characters of a translated condition. Parts are repeated in it, and nesting multiplies that. */
const MAX_SIZE = 32 * 1024

/** Operations that a provider of any language evaluates in the same way, once the types of values are checked. */
const COMPARISONS = new Set(['==', '!=', '===', '!==', '<', '<=', '>', '>='])

/**
 * JsonLogic for flagd's providers that is true for the same contexts as a condition, and never fails.
 * @throws NotLocalError
 */
export const localCondition = (condition: unknown): Logic =>
  condition === null || condition === undefined ? true : casesOf(condition).yes.logic

const casesOf = (logic: Logic): Cases => {
  if (typeof logic !== 'object' || logic === null) return constant(Boolean(logic))
  const [[name, argument] = ['', undefined]] = Object.entries(logic)
  const args = Array.isArray(argument) ? argument : [argument]
  if (name === 'var') return truthiness({ var: pathIn(argument) })
  if (name === 'segment') throw new NotLocalError('segments', `reads the segment ${argument}`)
  if ((name === 'and' || name === 'or') && Array.isArray(argument) && args.length > 0)
    return args
      .map(casesOf)
      .reduceRight((rest, first) => (name === 'and' ? both(first, rest) : either(first, rest)))
  if ((name === '!' || name === '!!') && args.length === 1) {
    const inner = casesOf(args[0])
    return name === '!' ? not(inner) : inner
  }
  if (name === 'if' && args.length > 1) return chain(args)
  if (COMPARISONS.has(name) && args.length > 1) return comparison(name, args)
  if (name === 'in' && args.length === 2) return membership(args)
  throw new NotLocalError('operation', `uses ${name} in a way that providers evaluate differently`)
}

const part = (logic: Logic): Part => ({ logic, size: JSON.stringify(logic).length })

const cases = (yes: Logic, no: Logic, total: boolean): Cases => ({ yes: part(yes), no: part(no), total })

const constant = (value: boolean): Cases => cases(value, !value, true)

const not = ({ yes, no, total }: Cases): Cases => ({ yes: no, no: yes, total })

const both = (first: Cases, rest: Cases): Cases => ({
  yes: and(first.yes, rest.yes),
  // The rest is evaluated only when the first is true.
  no: first.total ? or(first.no, rest.no) : or(first.no, and(first.yes, rest.no)),
  total: first.total && rest.total,
})

const either = (first: Cases, rest: Cases): Cases => not(both(not(first), not(rest)))

const chain = ([condition, then, ...more]: readonly Logic[]): Cases => {
  if (more.length === 0) return both(casesOf(condition), casesOf(then ?? null))
  const otherwise = more.length === 1 ? casesOf(more[0]) : chain(more)
  const [first, second] = [casesOf(condition), casesOf(then)]
  return {
    yes: or(and(first.yes, second.yes), and(first.no, otherwise.yes)),
    no: or(and(first.yes, second.no), and(first.no, otherwise.no)),
    total: first.total && second.total && otherwise.total,
  }
}

const and = (...parts: readonly Part[]): Part => joinParts('and', parts)
const or = (...parts: readonly Part[]): Part => joinParts('or', parts)
const joinParts = (name: 'and' | 'or', parts: readonly Part[]): Part => {
  const size = parts.reduce((sum, one) => sum + one.size, 0)
  if (size > MAX_SIZE) throw new NotLocalError('size', 'is nested too deep')
  const logic = join(name, ...parts.map((one) => one.logic))
  return { logic, size }
}

/** Joins parts, without those that change nothing. */
const join = (name: 'and' | 'or', ...parts: readonly Logic[]): Logic => {
  const neutral = name === 'and'
  const flat = parts.flatMap((one) => partsOf(name, one)).filter((one) => one !== neutral)
  if (flat.includes(!neutral)) return !neutral
  const [first = neutral, ...more] = flat
  return more.length === 0 ? first : { [name]: flat }
}
const partsOf = (name: string, logic: Logic): readonly Logic[] =>
  typeof logic === 'object' && logic !== null && Object.hasOwn(logic, name)
    ? (Reflect.get(logic, name) as Logic[])
    : [logic]

const truthiness = (value: Logic): Cases =>
  cases({ if: [value, true, false] }, { if: [value, false, true] }, true)

/** Logic that fails for some values of the context, with what excludes them. */
const guarded = (isAllowed: Logic, logic: Logic): Cases =>
  cases(join('and', isAllowed, logic), join('and', isAllowed, { '!': [logic] }), false)

type Scalar = string | number | boolean | null
const isScalar = (value: unknown): value is Scalar => typeof value !== 'object' || value === null

/** The operand of an operation that reads the context. */
type Operand = { read: Logic; length: Logic }

/** @throws NotLocalError when it is not `var` of the context */
const operandOf = (logic: Logic): Operand => {
  const [[name, argument] = ['', undefined]] =
    typeof logic === 'object' && logic !== null ? Object.entries(logic) : []
  if (name !== 'var') throw new NotLocalError('operation', 'computes a value before it compares it')
  const path = pathIn(argument)
  return { read: { var: path }, length: { var: `${[path].flat()[0]}.length` } }
}

/** The path of `var` without `context`. @throws NotLocalError when it reads anything else */
const pathIn = (argument: unknown): string | [string, Scalar] => {
  const [path, fallback, ...more] = Array.isArray(argument) ? argument : [argument]
  const [source, ...names] = String(path ?? '').split('.')
  if (source === 'traits' || source === 'counts')
    throw new NotLocalError(source, `reads ${source} of the person`)
  const isWhole = source !== 'context' || names.length === 0 || names.includes('')
  if (isWhole || ['targetingKey', '$flagd'].includes(names[0] ?? '') || /[/\\]/.test(String(path)))
    throw new NotLocalError(
      'context',
      `reads ${path || 'everything'}, which is not an attribute of the context`,
    )
  const inner = names.join('.')
  if (fallback === undefined) return inner
  if (!isScalar(fallback) || more.length > 0)
    throw new NotLocalError('operation', 'has a default that is not a constant')
  return [inner, fallback]
}

const comparison = (name: string, args: readonly Logic[]): Cases => {
  const constants = args.filter(isScalar)
  const [reading, ...others] = args.filter((arg) => !isScalar(arg))
  if (reading === undefined || others.length > 0)
    throw new NotLocalError('operation', `does not compare an attribute with a constant by ${name}`)
  const operand = operandOf(reading)
  if (args.length > 2)
    throw new NotLocalError(
      'operation',
      `compares more than two values by ${name}; join comparisons of two by and`,
    )
  const compared = { [name]: args.map((arg) => (arg === reading ? operand.read : arg)) }
  if (name.length === 3) return cases(compared, { '!': [compared] }, true)
  // The engine converts operands by another way when it compiles a comparison of a constant.
  if (args[0] !== reading) throw new NotLocalError('operation', `has the constant first in ${name}`)
  const [constant = null] = constants
  if (typeof constant === 'string' && Number.isNaN(Number(constant)))
    return ofText(name, operand, constant, compared)
  const isNumber = typeof constant === 'number' || typeof constant === 'boolean'
  return guarded(isNumber ? join('and', isValue(operand), isNumeric(operand)) : isValue(operand), compared)
}

/** A comparison with text that is no number, which fails for all but text and null. */
const ofText = (name: string, { read }: Operand, constant: string, compared: Logic): Cases => {
  const isText = join('or', hasText(read), { '===': [read, null] })
  const equal = { '===': [read, constant] }
  const unequal = join('and', isText, { '!==': [read, constant] })
  if (name === '==') return cases(equal, unequal, false)
  return name === '!=' ? cases(unequal, equal, false) : guarded(isText, compared)
}

const hasText = (read: Logic): Logic => ({ starts_with: [read, ''] })

/** Whether a value is neither a list nor an object. Lists have a length, and objects a fixed text. */
const isValue = ({ read, length }: Operand): Logic =>
  join('or', hasText(read), {
    and: [{ '===': [length, null] }, { '!==': [{ cat: ['', read] }, '[object Object]'] }],
  })

/** Whether such a value is a number or is taken for one: all others are neither below nor above null. */
const isNumeric = ({ read }: Operand): Logic => ({ or: [{ '<=': [null, read] }, { '>=': [null, read] }] })

const membership = ([item, list]: readonly Logic[]): Cases => {
  if (Array.isArray(list)) {
    if (!list.every((one) => isScalar(one) && one !== null))
      throw new NotLocalError(
        'operation',
        'searches in a list that has more than texts, numbers and booleans',
      )
    const listed = { in: [operandOf(item).read, list] }
    return cases(listed, { '!': [listed] }, true)
  }
  if (typeof item !== 'string') throw new NotLocalError('operation', 'searches for a value that is not text')
  const { read, length } = operandOf(list)
  const isSearchable = join(
    'or',
    hasText(read),
    { '!==': [length, null] },
    {
      in: [read, [null, false, 0]],
    },
  )
  return guarded(isSearchable, { in: [item, read] })
}
