import type { ValidationItem } from '@waymark/contracts/http/track-result'
import { LogicEngine } from 'json-logic-engine'
import { isDeeperThan } from '../json/client-json.ts'
import { checkLogic, type LogicOptions, OPERATIONS } from './check-logic.ts'
import { METERED_METHODS, meterLogic, type SegmentLookup, startMeter, stepsLeft } from './meter-logic.ts'
import { BudgetExceededError, type WorkBudget } from './work-budget.ts'

const MAX_LOGIC_BYTES = 8 * 1024
const MAX_LOGIC_DEPTH = 20
/** Maximum steps of one evaluation, regardless of the remaining budget. */
export const MAX_STEPS = 250_000
/** Budget per step of logic, which is slower than a step of a schema. */
export const STEP_COST = 8

const createEngine = (): LogicEngine => {
  const { methods } = new LogicEngine()
  const known = Object.fromEntries(OPERATIONS.map((name) => [name, methods[name]]))
  const engine = new LogicEngine(known, {
    // The accumulator of `reduce` cannot grow, so its depth is not checked in each round.
    maxDepth: Number.POSITIVE_INFINITY,
    // It gives some logic another meaning, until it turns itself off after 500 pieces of logic in a row that it had not seen.
    disableInterpretedOptimization: true,
  })
  for (const [name, method] of Object.entries(METERED_METHODS)) engine.addMethod(name, method)
  // Operations are looked up by names of clients.
  Object.setPrototypeOf(engine.methods, null)
  engine.truthy = isTruthy
  return engine
}

/** Truthiness of JsonLogic, without enumerating members of objects. */
const isTruthy = (value: unknown): boolean => {
  if (typeof value !== 'object' || value === null) return Boolean(value)
  if (Array.isArray(value)) return value.length > 0
  for (const _name in value) return true
  return false
}
const engine = createEngine()

/** The data of an evaluation, the length of its longest string, and the segments of its person. */
export type LogicData = { value: unknown; longestText: number; segments?: SegmentLookup | undefined }

/** Prepares data, once for all evaluations on it. */
export const logicData = (value: unknown, segments?: SegmentLookup): LogicData => ({
  value,
  longestText: longestTextIn(value),
  segments,
})

const longestTextIn = (value: unknown): number => {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  let longest = 0
  for (const item of Array.isArray(value) ? value : Object.values(value))
    longest = Math.max(longest, longestTextIn(item))
  return longest
}

/** Compiled logic. */
export type CompiledLogic = {
  /**
   * Whether logic is true for data. An error during the evaluation counts as false. `exceeded` when it would exceed the
   * remaining budget or `MAX_STEPS`.
   */
  evaluate: (data: LogicData, budget: WorkBudget) => Evaluation
}
export type Evaluation = 'holds' | 'fails' | 'exceeded'

/**
 * Compiles JsonLogic.
 * @throws Error when it is not valid JsonLogic, or `checkLogic` refuses it
 */
export const compileLogic = (logic: unknown, options: LogicOptions = {}): CompiledLogic => {
  if (isDeeperThan(logic, MAX_LOGIC_DEPTH)) throw new Error(`is nested deeper than ${MAX_LOGIC_DEPTH} levels`)
  checkLogic(logic, options)
  const metered = meterLogic(logic)
  const run = engine.build(metered.logic) as (data: unknown) => unknown
  return {
    evaluate: ({ value, longestText, segments }, budget) => {
      const allowed = Math.min(MAX_STEPS, Math.floor(budget.left / STEP_COST))
      try {
        startMeter(allowed, longestText, metered, segments)
        return isTruthy(run(value)) ? 'holds' : 'fails'
      } catch (error) {
        return error instanceof BudgetExceededError ? 'exceeded' : 'fails'
      } finally {
        budget.spend((allowed - stepsLeft()) * STEP_COST)
      }
    },
  }
}

/** Why logic may not be saved: it is too large or cannot be compiled. `field` is its path in the request. */
export const logicProblems = (
  logic: unknown,
  field: string,
  options: LogicOptions = {},
): ValidationItem[] => {
  const problem = (message: string): ValidationItem[] => [{ field, rule: 'json_logic', message }]
  if (Buffer.byteLength(JSON.stringify(logic)) > MAX_LOGIC_BYTES)
    return problem(`is larger than ${MAX_LOGIC_BYTES} bytes`)
  try {
    compileLogic(logic, options)
    return []
  } catch (error) {
    return problem(`is not usable JsonLogic: ${(error as Error).message ?? error}`.slice(0, 300))
  }
}
