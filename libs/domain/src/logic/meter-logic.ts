import { BudgetExceededError } from './work-budget.ts'

/** The cost of a part of logic: `flat` steps, and `text` times the steps of the longest string. */
export type Cost = { flat: number; text: number }

/** Whether the person of an evaluation is in a segment, and what it costs to find out. Undefined for an unknown one. */
export type SegmentLookup = (key: string) => { cost: Cost; holds: () => boolean } | undefined

type Logic = Record<string, unknown>
type Metered = Cost & { logic: unknown }
type Method = (args: unknown[]) => unknown

/** Characters per step, to copy, compare or parse a string. */
const CHARACTERS_PER_STEP = 32
const ITERATING = new Set(['map', 'filter', 'reduce', 'all', 'none', 'some'])
const READING = new Set(['var', 'val', 'exists', 'missing', 'missing_some'])
const COMPARING = new Set(['==', '===', '!=', '!==', '<', '<=', '>', '>='])
const CALCULATING = new Set(['+', '-', '*', '/', '%', 'min', 'max'])
/** Operations that are replaced by metered ones, because their cost depends on their arguments. */
const REPLACED: Readonly<Record<string, string>> = { merge: '@merge', substr: '@substr' }

// Evaluation is synchronous, so one meter is enough.
let left = 0
let longest = 0
let segments: SegmentLookup | undefined

/** Starts an evaluation of at most `steps` and takes its first `cost`. @throws BudgetExceededError */
export const startMeter = (
  steps: number,
  longestText: number,
  cost: Cost,
  lookup: SegmentLookup | undefined,
): void => {
  left = steps
  longest = longestText
  segments = lookup
  spend(costOf(cost))
}

/** The remaining steps of the evaluation. */
export const stepsLeft = (): number => left

const costOf = ({ flat, text }: Cost): number => flat + text * (1 + longest / CHARACTERS_PER_STEP)

const spend = (steps: number): void => {
  const whole = Math.ceil(steps)
  if (whole > left) throw new BudgetExceededError()
  left -= whole
}

const spendText = (characters: number): void => {
  longest = Math.max(longest, characters)
  spend(1 + characters / CHARACTERS_PER_STEP)
}

/** A value as text. Each item is paid for in advance, because nested lists may contain very many. */
const textOf = (value: unknown): string => {
  spendValue(value)
  return String(value)
}

const spendValue = (value: unknown): void => {
  spend(1)
  if (typeof value === 'string') spendText(value.length)
  if (Array.isArray(value)) for (const item of value) spendValue(item)
}

/** Internal operations of metered logic. Clients cannot use them. */
export const METERED_METHODS: Readonly<Record<string, Method>> = {
  // An iteration over a list, with the cost of its body for each item.
  '@each': ([list, flat, text]) => {
    if (Array.isArray(list)) spend(list.length * costOf({ flat: flat as number, text: text as number }))
    return list
  },
  '@segment': ([key]) => {
    const membership = segments?.(key as string)
    if (membership === undefined) return false
    spend(costOf(membership.cost))
    return membership.holds()
  },
  '@text': ([value]) => {
    if (typeof value === 'string') spend(value.length / CHARACTERS_PER_STEP)
    return value
  },
  '@sized': ([value]) => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      for (const _name in value) spend(1)
    return value
  },
  '@cat': (pieces) => {
    let text = ''
    for (const piece of pieces) text += textOf(piece)
    spendText(text.length)
    return text
  },
  '@join': (pieces) => {
    let text = ''
    for (const piece of pieces) if (piece !== null && piece !== undefined) text += textOf(piece)
    spendText(text.length)
    return text
  },
  '@merge': (args) => {
    for (const arg of args) spend(Array.isArray(arg) ? arg.length : 1)
    return args.flat(1)
  },
  '@substr': ([text, from, end]) => {
    const whole = text
    if (typeof whole !== 'string') throw new TypeError('is no text')
    spendText(whole.length)
    if (typeof end !== 'number' || end >= 0) return whole.substr(from as number, end as number)
    const rest = whole.substr(from as number)
    return rest.substr(0, rest.length + end)
  },
  '@in': ([item, within]) => {
    const haystack = within || []
    if (typeof haystack === 'string') {
      // A repetitive string may be compared with the whole other one at each position.
      const needle = textOf(item)
      spend((haystack.length * Math.max(1, needle.length)) / CHARACTERS_PER_STEP)
      return haystack.includes(needle)
    }
    // Others have any length, or none, which would be no cost.
    if (!Array.isArray(haystack)) throw new TypeError('is no list')
    const perItem = typeof item === 'string' ? 1 + item.length / CHARACTERS_PER_STEP : 1
    spend(haystack.length * perItem)
    return haystack.includes(item)
  },
}

/**
 * Adds metering to checked logic, and returns the cost of its first steps. In the body of a loop each string is paid for by
 * its length; elsewhere as the longest one, which keeps comparisons fast.
 */
export const meterLogic = (logic: unknown, inLoop = false): Metered => {
  if (typeof logic !== 'object' || logic === null) return { logic, flat: 1, text: 0 }
  if (Array.isArray(logic)) return listOf(logic, inLoop)
  const [[name, argument] = ['', undefined]] = Object.entries(logic as Logic)
  if (name === 'segment') return { logic: { '@segment': [argument] }, flat: 1, text: 0 }
  if (READING.has(name)) return reading(name, argument, inLoop)
  if (ITERATING.has(name) && Array.isArray(argument)) return iterating(name, argument, inLoop)
  const { logic: parts, flat, text } = meterLogic(argument, inLoop)
  const own = ownCost(name, argument)
  if (!inLoop || own.text === 0 || !Array.isArray(argument))
    return { logic: replaced(name, argument, parts), flat: flat + own.flat, text: text + own.text }
  const paid = (parts as unknown[]).map((part) => (isLiteral(part) ? part : { '@text': [part] }))
  return { logic: { [name]: paid }, flat: flat + own.flat + own.text, text }
}

const listOf = (parts: readonly unknown[], inLoop: boolean): Metered => {
  const metered = parts.map((part) => meterLogic(part, inLoop))
  return {
    logic: metered.map(({ logic }) => logic),
    flat: metered.reduce((sum, { flat }) => sum + flat, 1),
    text: metered.reduce((sum, { text }) => sum + text, 0),
  }
}

const reading = (name: string, argument: unknown, inLoop: boolean): Metered => {
  const steps = JSON.stringify(argument ?? '').split(/[./,]/).length
  if (name !== 'var' || !Array.isArray(argument) || argument.length < 2)
    return { logic: { [name]: argument }, flat: steps, text: 0 }
  const [path, fallback, ...more] = argument
  const { logic, flat, text } = meterLogic(fallback, inLoop)
  return { logic: { [name]: [path, logic, ...more] }, flat: flat + steps, text }
}

const iterating = (name: string, [list, body, ...more]: readonly unknown[], inLoop: boolean): Metered => {
  const [selector, mapper, rest] = [meterLogic(list, inLoop), meterLogic(body, true), listOf(more, inLoop)]
  return {
    logic: {
      [name]: [
        { '@each': [selector.logic, mapper.flat, mapper.text] },
        mapper.logic,
        ...(rest.logic as unknown[]),
      ],
    },
    flat: selector.flat + rest.flat + 1,
    text: selector.text + rest.text,
  }
}

const ownCost = (name: string, argument: unknown): Cost => {
  const args = Array.isArray(argument) ? argument : [argument]
  const texts = args.filter((part) => !isLiteral(part) || typeof part === 'string').length
  if (COMPARING.has(name)) {
    // A comparison stops at the end of the shorter string.
    const literal = args.find((part) => typeof part === 'string')
    return typeof literal === 'string' && args.length === 2
      ? { flat: 1 + literal.length / CHARACTERS_PER_STEP, text: 0 }
      : { flat: 1, text: texts }
  }
  return CALCULATING.has(name) ? { flat: 1, text: texts } : { flat: 1, text: 0 }
}

const isLiteral = (part: unknown): boolean => typeof part !== 'object' || part === null

const replaced = (name: string, argument: unknown, parts: unknown): Logic => {
  const isList = Array.isArray(argument)
  // A path may refer to a list.
  const isOne = typeof argument === 'object' && argument !== null && !isList
  if (name === 'cat') return { [isList ? '@cat' : '@join']: parts }
  if (name === 'in' && !isInLiterals(argument))
    return { '@in': isList ? (parts as unknown[]).slice(0, 2) : parts }
  if (name === 'length' && isOne) return { length: { '@sized': [parts] } }
  if (name === 'length' && isList)
    return { length: (parts as unknown[]).map((part) => ({ '@sized': [part] })) }
  if ((CALCULATING.has(name) || name === '??') && isOne) return { [name]: { '@each': [parts, 1, 1] } }
  return { [REPLACED[name] ?? name]: parts }
}

/** Whether it searches a constant list, such as one of countries. */
const isInLiterals = (argument: unknown): boolean =>
  Array.isArray(argument) &&
  Array.isArray(argument[1]) &&
  argument[1].every((item) => typeof item !== 'object' || item === null)
