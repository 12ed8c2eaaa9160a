import type { ValidationItem } from '@waymark/contracts/http/track-result'
import { type CompiledLogic, compileLogic, logicProblems } from '../logic/compile-logic.ts'

/** Maximum window of a count, in days. */
export const MAX_COUNT_DAYS = 90

/** A count that a condition reads: how often a person had an event within a number of days, including today. */
export type CountRef = { event: string; days: number }

/** The data that a condition is evaluated on. */
export type ConditionData = {
  traits: Readonly<Record<string, unknown>>
  context: Readonly<Record<string, unknown>>
  /** By event and window, such as `counts.order_placed['30d']`. */
  counts: Readonly<Record<string, Readonly<Record<string, number>>>>
}

/** A compiled condition, the counts that it reads, and the keys of its segments. */
export type CompiledCondition = CompiledLogic & { counts: readonly CountRef[]; segments: readonly string[] }

const WINDOW = /^([1-9]\d?)d$/

/** Compiles a condition. @throws Error when it is not valid JsonLogic */
export const compileCondition = (condition: unknown): CompiledCondition =>
  condition === null || condition === undefined
    ? EVERYBODY
    : {
        ...compileLogic(condition, WITH_SEGMENTS),
        counts: countsIn(condition),
        segments: segmentsIn(condition),
      }

const WITH_SEGMENTS = { segments: true }
const EVERYBODY: CompiledCondition = { evaluate: () => 'holds', counts: [], segments: [] }

/**
 * Why a condition may not be saved: it is not JsonLogic, too large or deep, nests iterations, or reads an invalid count.
 * Returns the first problem only. `field` is the path of the condition in the request.
 */
export const conditionProblems = (condition: unknown, field: string): ValidationItem[] => {
  const problems = logicProblems(condition, field, WITH_SEGMENTS)
  if (problems.length > 0) return problems
  readCounts(condition, (message) => problems.push({ field, rule: 'json_logic', message }))
  return problems.slice(0, 1)
}

/** The counts that a condition reads. */
export const countsIn = (condition: unknown): CountRef[] => readCounts(condition, () => {})

/** The keys of the segments that a condition refers to. */
export const segmentsIn = (condition: unknown): string[] => {
  if (typeof condition !== 'object' || condition === null) return []
  if (Array.isArray(condition)) return condition.flatMap(segmentsIn)
  return Object.entries(condition).flatMap(([operation, argument]) =>
    operation === 'segment' && typeof argument === 'string' ? [argument] : segmentsIn(argument),
  )
}

/** The paths that a condition reads and that have no value in its data, such as `traits.age`. */
export const missingIn = (condition: unknown, data: ConditionData): string[] => {
  if (typeof condition !== 'object' || condition === null) return []
  const found = Object.entries(condition).flatMap(([name, argument]) => {
    const inside = missingIn(argument, data)
    if (Array.isArray(condition) || (name !== 'var' && name !== 'val')) return inside
    // The second argument of `var` is what a missing value becomes.
    if (name === 'var' && Array.isArray(argument) && argument.length > 1) return inside
    const path = pathOf(name, argument) ?? []
    const isData = path.length > 1 && ['traits', 'context'].includes(path[0] ?? '')
    return isData && !isPresent(data, path) ? [path.join('.'), ...inside] : inside
  })
  return [...new Set(found)]
}

/**
 * The traits that a condition reads, by the first part of their path. `null`: it may read all of them, or its paths are
 * computed.
 */
export const traitsIn = (condition: unknown): string[] | null => {
  if (typeof condition !== 'object' || condition === null) return []
  const names: string[] = []
  for (const [name, argument] of Object.entries(condition)) {
    const inside = traitsIn(argument)
    if (inside === null) return null
    names.push(...inside)
    if (Array.isArray(condition) || (name !== 'var' && name !== 'val')) continue
    const [root = '', trait] = pathOf(name, argument) ?? []
    if (root === '' || (root === 'traits' && trait === undefined)) return null
    if (root === 'traits' && trait !== undefined) names.push(trait)
  }
  return [...new Set(names)]
}

/** The parts of the context that a condition reads, such as `context.plan`, and that are not given. */
export const contextIn = (condition: unknown, context: ConditionData['context']): string[] =>
  missingIn(condition, { traits: {}, context, counts: {} }).filter((path) => path.startsWith('context.'))

const isPresent = (data: unknown, path: readonly string[]): boolean => {
  let value = data
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return false
    value = Reflect.get(value, key)
  }
  return value !== null
}

/** The counts that a condition reads. Calls `complain` for invalid ones. */
const readCounts = (logic: unknown, complain: (message: string) => void): CountRef[] => {
  if (typeof logic !== 'object' || logic === null) return []
  const inside = Object.values(logic).flatMap((part) => readCounts(part, complain))
  if (Array.isArray(logic)) return inside
  return [...Object.entries(logic).flatMap(([name, path]) => countAt(name, path, complain)), ...inside]
}

const countAt = (operation: string, path: unknown, complain: (message: string) => void): CountRef[] => {
  if (operation !== 'var' && operation !== 'val') return []
  const parts = pathOf(operation, path)
  if (parts === undefined) complain(`computes the path that ${operation} reads; it must be a constant`)
  if (parts?.[0] !== 'counts') return []
  const [, event = '', window = '', ...more] = parts
  const days = Number(WINDOW.exec(window)?.[1])
  if (event !== '' && more.length === 0 && days <= MAX_COUNT_DAYS) return [{ event, days }]
  complain(
    `reads ${parts.join('.')}, which is not counts.<event>.<n>d with 1 to ${MAX_COUNT_DAYS} days; ` +
      'for an event whose name has dots use val with a list',
  )
  return []
}

/** How often a person had an event on one day (UTC, `2026-11-21`). */
export type DayCount = { event: string; day: string; n: number }

const DAY_MS = 24 * 60 * 60 * 1000

/** The first day (UTC) of a window of `days` that ends today. `now` in ms since the epoch. */
export const firstDayOf = (days: number, now: number): string =>
  new Date(now - (days - 1) * DAY_MS).toISOString().slice(0, 10)

/** Sums daily counts for conditions. A window of n days includes today and the n - 1 days before. */
export const countsOf = (
  refs: readonly CountRef[],
  days: readonly DayCount[],
  now: number,
): ConditionData['counts'] => {
  const counts: Record<string, Record<string, number>> = Object.create(null)
  for (const { event, days: window } of refs) {
    const first = firstDayOf(window, now)
    const sum = days.reduce((n, count) => (count.event === event && count.day >= first ? n + count.n : n), 0)
    counts[event] = { ...counts[event], [`${window}d`]: sum }
  }
  return counts
}

/** The parts of a constant path. */
const pathOf = (operation: string, path: unknown): string[] | undefined => {
  const list = Array.isArray(path) ? path : [path]
  // The second argument of `var` is the default.
  const named = operation === 'var' ? list.slice(0, 1) : list
  if (named.some((part) => typeof part === 'object' && part !== null && !Array.isArray(part)))
    return undefined
  if (operation === 'var') return String(named[0] ?? '').split('.')
  return named.flat().map(String)
}
