import type { Exposure } from '@waymark/contracts'
import { type Choice, type CompiledDecision, partitionKeyOf } from '@waymark/domain'
import type { BackgroundPublisher } from '@waymark/pipeline'
import { LRUCache } from 'lru-cache'
import { type Asker, exposureOf } from './answers.ts'

/** What was told of somebody on a day: by decision, the variant that was shown last. */
type Told = { day: string; variants: Map<string, string> }

/** Of so many decisions that were shown to somebody it is remembered. */
const MAX_REMEMBERED = 100_000

/**
 * Publishes exposures, as far as this process knows once per decision, variant, person and day (UTC); the store drops
 * the repeats of other processes, and of who is shown two variants in turn.
 */
export const createExpose = (publisher: Pick<BackgroundPublisher<Exposure>, 'add'>) => {
  // One entry for a person, not for each of the decisions that a request asks for: to find one takes longer than all else here.
  const people = new LRUCache<string, Told>({ maxSize: MAX_REMEMBERED })
  return (compiled: CompiledDecision, choice: Choice, asker: Asker): void => {
    const person = asker.profileId ?? asker.subject
    const day = asker.decidedAt.slice(0, 10)
    const known = people.get(person)
    const told = known?.day === day ? known : { day, variants: new Map<string, string>() }
    if (told.variants.get(compiled.decision.id) === choice.variant) return
    const value = exposureOf(compiled, choice, asker)
    const key = partitionKeyOf(value.projectId, { ...value, eventId: value.subject })
    if (!publisher.add({ key, value })) return
    told.variants.set(compiled.decision.id, choice.variant)
    people.set(person, told, { size: told.variants.size })
  }
}

export type Expose = ReturnType<typeof createExpose>
