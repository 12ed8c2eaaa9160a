import type { Decision } from '@waymark/contracts'
import { type CompiledDecision, compileDecision } from '@waymark/domain'
import { LRUCache } from 'lru-cache'

const MAX_DECISIONS = 10_000

/** Compiles a decision; throws when it cannot be. */
export type CompileDecision = (decision: Decision) => CompiledDecision

/**
 * Compiles each version of a decision once, although projects are read again whenever anything of theirs changes.
 */
export const createDecisionCompiler = (): CompileDecision => {
  const compiled = new LRUCache<string, CompiledDecision>({ max: MAX_DECISIONS })
  return (decision) => {
    const version = `${decision.id}:${decision.version}`
    const known = compiled.get(version)
    if (known) return known
    const fresh = compileDecision(decision)
    compiled.set(version, fresh)
    return fresh
  }
}
