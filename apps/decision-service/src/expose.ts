import type { Exposure } from '@waymark/contracts'
import { type Choice, type CompiledDecision, partitionKeyOf } from '@waymark/domain'
import type { BackgroundPublisher } from '@waymark/pipeline'
import { LRUCache } from 'lru-cache'
import type { DecisionSubject } from './decision-results.ts'

/** The exposures of a person that were published on a day: the last variant of each decision. */
type Published = { day: string; variants: Map<string, string> }

/** Maximum number of cached exposures, of all people. */
const MAX_CACHED = 100_000

/**
 * Publishes each exposure once per decision, variant, person and day (UTC), to the knowledge of this process. The store drops
 * repeats from other processes, and those of people who see two variants in turn. False when too many are waiting.
 */
export const createExpose = (publisher: Pick<BackgroundPublisher<Exposure>, 'add'>) => {
  const people = new LRUCache<string, Published>({ maxSize: MAX_CACHED })
  return (compiled: CompiledDecision, choice: Choice, decisionSubject: DecisionSubject): boolean => {
    const person = decisionSubject.profileId ?? decisionSubject.subject
    const day = decisionSubject.decidedAt.slice(0, 10)
    const known = people.get(person)
    const published = known?.day === day ? known : { day, variants: new Map<string, string>() }
    if (published.variants.get(compiled.decision.id) === choice.variant) return true
    const value = exposureOf(compiled, choice, decisionSubject)
    const key = partitionKeyOf(value.projectId, { ...value, eventId: value.subject })
    if (!publisher.add({ key, value })) return false
    published.variants.set(compiled.decision.id, choice.variant)
    people.set(person, published, { size: published.variants.size })
    return true
  }
}

export type Expose = ReturnType<typeof createExpose>

/** The exposure of a choice. */
const exposureOf = (
  { decision }: CompiledDecision,
  { variant, reason, ruleId }: Choice,
  { projectId, subject, identity, profileId, decidedAt }: DecisionSubject,
): Exposure => ({
  v: 1,
  projectId,
  decisionId: decision.id,
  decisionKey: decision.key,
  version: decision.version,
  variant,
  reason,
  ruleId,
  subject,
  visitorId: identity.kind === 'visitor' ? identity.value : null,
  userId: identity.kind === 'user' ? identity.value : null,
  profileId,
  exposedAt: decidedAt,
})
