import { LRUCache } from 'lru-cache'
import { type CompiledLogic, compileLogic } from '../logic/compile-logic.ts'

/** Maximum size of the conditions that stay compiled, as the characters of their JSON. */
export const MAX_COMPILED_CHARACTERS = 2 * 1024 * 1024

// By content, because the rules of pools are read from the database for each request.
const compiled = new LRUCache<string, CompiledLogic>({
  maxSize: MAX_COMPILED_CHARACTERS,
  sizeCalculation: (_logic, json) => json.length,
})

/** The compiled condition of a pool. Equal ones are compiled once, while they are among those used last. */
export const compileCondition = (condition: unknown): CompiledLogic => {
  const json = JSON.stringify(condition)
  const known = compiled.get(json)
  if (known) return known
  const logic = compileLogic(condition, { segments: true })
  compiled.set(json, logic)
  return logic
}
