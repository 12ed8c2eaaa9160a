import type { ValidationItem } from '@waymark/contracts'
import { LogicEngine } from 'json-logic-engine'
import { isDeeperThan } from '../ingestion/json-depth.ts'
import { checkLogic, OPERATIONS } from './check-logic.ts'
import { METERED_METHODS, meterLogic, startMeter, stepsLeft } from './meter-logic.ts'
import { BudgetExceededError, type WorkBudget } from './work-budget.ts'

const MAX_LOGIC_BYTES = 8 * 1024
const MAX_LOGIC_DEPTH = 20
/** Steps of logic that one evaluation may take, whatever is left of the budget. */
export const MAX_STEPS = 250_000
/** What a step of logic takes from the budget: it is slower than a step of a schema. */
export const STEP_COST = 8

const createEngine = (): LogicEngine => {
  const { methods } = new LogicEngine()
  const known = Object.fromEntries(OPERATIONS.map((name) => [name, methods[name]]))
  // Lists in what `reduce` gathers cannot grow, so their depth is not looked at again in each round.
  const engine = new LogicEngine(known, { maxDepth: Number.POSITIVE_INFINITY })
  for (const [name, method] of Object.entries(METERED_METHODS)) engine.addMethod(name, method)
  // Operations are looked up by names that others write.
  Object.setPrototypeOf(engine.methods, null)
  engine.truthy = isTruthy
  return engine
}

/** As JsonLogic has it, without listing the members of objects. */
const isTruthy = (value: unknown): boolean => {
  if (typeof value !== 'object' || value === null) return Boolean(value)
  if (Array.isArray(value)) return value.length > 0
  for (const _name in value) return true
  return false
}
const engine = createEngine()

/** JSON that logic is asked about, and the length of the longest text in it. */
export type LogicData = { value: unknown; longestText: number }

/** Prepares data for evaluations: once for all logic that is asked about it. */
export const logicData = (value: unknown): LogicData => ({ value, longestText: longestTextIn(value) })

const longestTextIn = (value: unknown): number => {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  let longest = 0
  if (Array.isArray(value)) for (const item of value) longest = Math.max(longest, longestTextIn(item))
  else for (const name in value) longest = Math.max(longest, longestTextIn((value as Values)[name]))
  return longest
}
type Values = Record<string, unknown>

/** Logic ready to be asked. */
export type CompiledLogic = {
  /**
   * Whether it holds for data; what stumbles over data fails. `exceeded` when finding out would cost more than is left
   * of the budget, or more than `MAX_STEPS`.
   */
  evaluate: (data: LogicData, budget: WorkBudget) => Evaluation
}
export type Evaluation = 'holds' | 'fails' | 'exceeded'

/**
 * Compiles JsonLogic.
 * @throws Error when it is no JsonLogic, or more than `checkLogic` allows
 */
export const compileLogic = (logic: unknown): CompiledLogic => {
  if (isDeeperThan(logic, MAX_LOGIC_DEPTH)) throw new Error(`is nested deeper than ${MAX_LOGIC_DEPTH} levels`)
  checkLogic(logic)
  const metered = meterLogic(logic)
  const run = engine.build(metered.logic) as (data: unknown) => unknown
  return {
    evaluate: ({ value, longestText }, budget) => {
      const allowed = Math.min(MAX_STEPS, Math.floor(budget.left / STEP_COST))
      try {
        startMeter(allowed, longestText, metered)
        return isTruthy(run(value)) ? 'holds' : 'fails'
      } catch (error) {
        return error instanceof BudgetExceededError ? 'exceeded' : 'fails'
      } finally {
        budget.spend((allowed - stepsLeft()) * STEP_COST)
      }
    },
  }
}

/** Why logic may not be saved: it is too large or cannot be compiled. `field` is where it is in the request. */
export const logicProblems = (logic: unknown, field: string): ValidationItem[] => {
  const problem = (message: string): ValidationItem[] => [{ field, rule: 'json_logic', message }]
  if (Buffer.byteLength(JSON.stringify(logic)) > MAX_LOGIC_BYTES)
    return problem(`is larger than ${MAX_LOGIC_BYTES} bytes`)
  try {
    compileLogic(logic)
    return []
  } catch (error) {
    return problem(`is not usable JsonLogic: ${(error as Error).message ?? error}`.slice(0, 300))
  }
}
