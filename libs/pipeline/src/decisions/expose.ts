import type { Exposure } from '@waymark/contracts/records/change-records'
import { type Choice, type CompiledDecision, countingIdOf, type Subject } from '@waymark/domain/decision'
import { partitionKeyOf } from '@waymark/domain/ingestion'
import { LRUCache } from 'lru-cache'
import type { BackgroundPublisher } from '../outbox/index.ts'

/** The subject of a decision, and its time (RFC 3339). */
export type DecisionSubject = Subject & { projectId: string; decidedAt: string }

/** The last published exposure of a person to a decision: its variant and reason, and its time (RFC 3339). */
type Last = { choice: string; at: string }
/** The exposures of a person that were published on a day, by decision. */
type Published = { day: string; last: Map<string, Last> }

/** Maximum number of cached exposures, of all people. */
const MAX_CACHED = 100_000

/**
 * Publishes each exposure once per decision, variant, reason, person and day (UTC), to the knowledge of this process, and
 * again when an earlier one is reported. The store drops repeats from other processes, and those of people who see two
 * variants in turn. False when too many are waiting.
 */
export const createExpose = (publisher: Pick<BackgroundPublisher<Exposure>, 'add'>) => {
  const people = new LRUCache<string, Published>({ maxSize: MAX_CACHED })
  return (compiled: CompiledDecision, choice: Choice, decisionSubject: DecisionSubject): boolean => {
    const { profileId, identity, decidedAt } = decisionSubject
    const person = profileId ?? `${identity.kind}:${identity.value}`
    const day = decidedAt.slice(0, 10)
    const known = people.get(person)
    const published = known?.day === day ? known : { day, last: new Map<string, Last>() }
    const counting = countingIdOf(compiled.decision.id, compiled.decision.environment)
    const before = published.last.get(counting)
    const chosen = `${choice.reason}:${choice.variant}`
    if (before?.choice === chosen && before.at <= decidedAt) return true
    const value = exposureOf(compiled, choice, decisionSubject)
    const key = partitionKeyOf(value.projectId, { ...value, eventId: value.subject })
    if (!publisher.add({ key, value })) return false
    published.last.set(counting, { choice: chosen, at: decidedAt })
    people.set(person, published, { size: published.last.size })
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
  ...(decision.environment !== undefined && { environment: decision.environment }),
  variant,
  reason,
  ruleId,
  subject,
  visitorId: identity.kind === 'visitor' ? identity.value : null,
  userId: identity.kind === 'user' ? identity.value : null,
  profileId,
  exposedAt: decidedAt,
})
