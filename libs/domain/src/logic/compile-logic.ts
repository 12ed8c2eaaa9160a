import { AppError } from '@waymark/contracts'
import { LogicEngine } from 'json-logic-engine'
import { isDeeperThan } from '../ingestion/json-depth.ts'
import { weightOf } from '../ingestion/value-weight.ts'
import { checkLogic, OPERATIONS } from './check-logic.ts'

const MAX_LOGIC_BYTES = 8 * 1024
const MAX_LOGIC_DEPTH = 20
/** Steps that logic may take on data, where it goes through lists one for each of its parts and value of the data. */
export const MAX_STEPS = 1_000_000

const createEngine = (): LogicEngine => {
  const { methods } = new LogicEngine()
  const engine = new LogicEngine(Object.fromEntries(OPERATIONS.map((name) => [name, methods[name]])))
  // Operations are looked up by names that others write.
  Object.setPrototypeOf(engine.methods, null)
  return engine
}
const engine = createEngine()

/** Logic ready to be asked. */
export type CompiledLogic = {
  /** The steps that it may take; `weigh` answers how much the data weighs, where that counts. */
  mostSteps: (weigh: () => number) => number
  /** Whether it holds for data. What stumbles over data does not hold for it. */
  holds: (data: unknown) => boolean
}

/**
 * Compiles JsonLogic. Whoever asks it compares `mostSteps` with `MAX_STEPS` before.
 * @throws Error when it is no JsonLogic, or more than `checkLogic` allows
 */
export const compileLogic = (logic: unknown): CompiledLogic => {
  if (isDeeperThan(logic, MAX_LOGIC_DEPTH)) throw new Error(`is nested deeper than ${MAX_LOGIC_DEPTH} levels`)
  const { multiplies } = checkLogic(logic)
  const run = engine.build(logic) as (data: unknown) => unknown
  const weight = weightOf(logic)
  return {
    mostSteps: multiplies ? (weigh) => weight * weigh() : () => weight,
    holds: (data) => {
      try {
        return Boolean(engine.truthy(run(data)))
      } catch {
        return false
      }
    },
  }
}

/**
 * Checks that logic may be saved; `field` is where it is in the request.
 * @throws AppError unprocessable when it is too large or cannot be compiled
 */
export const requireUsableLogic = (logic: unknown, field = 'filter'): void => {
  const refuse = (message: string): never => {
    throw new AppError('unprocessable', 'The filter cannot be used', {
      errors: [{ field, rule: 'json_logic', message }],
    })
  }
  if (Buffer.byteLength(JSON.stringify(logic)) > MAX_LOGIC_BYTES)
    refuse(`is larger than ${MAX_LOGIC_BYTES} bytes`)
  try {
    compileLogic(logic)
  } catch (error) {
    refuse(`is not usable JsonLogic: ${(error as Error).message ?? error}`.slice(0, 300))
  }
}
