import type { Exposure } from '@waymark/contracts'
import { type Choice, type CompiledDecision, partitionKeyOf } from '@waymark/domain'
import type { BackgroundPublisher } from '@waymark/pipeline'
import { LRUCache } from 'lru-cache'
import { type Asker, exposureOf } from './answers.ts'

/** What was published of a person on a day: the variant last shown, by decision. */
type Published = { day: string; variants: Map<string, string> }

/** Most decisions, of all people, that are remembered. */
const MAX_REMEMBERED = 100_000

/**
 * Publishes exposures, as far as this process knows once per decision, variant, person and day (UTC); the store drops
 * the repeats of other processes, and of who is shown two variants in turn.
 */
export const createExpose = (publisher: Pick<BackgroundPublisher<Exposure>, 'add'>) => {
  const people = new LRUCache<string, Published>({ maxSize: MAX_REMEMBERED })
  return (compiled: CompiledDecision, choice: Choice, asker: Asker): void => {
    const person = asker.profileId ?? asker.subject
    const day = asker.decidedAt.slice(0, 10)
    const known = people.get(person)
    const published = known?.day === day ? known : { day, variants: new Map<string, string>() }
    if (published.variants.get(compiled.decision.id) === choice.variant) return
    const value = exposureOf(compiled, choice, asker)
    const key = partitionKeyOf(value.projectId, { ...value, eventId: value.subject })
    if (!publisher.add({ key, value })) return
    published.variants.set(compiled.decision.id, choice.variant)
    people.set(person, published, { size: published.variants.size })
  }
}

export type Expose = ReturnType<typeof createExpose>
