import type { Exposure } from '@waymark/contracts'
import { type Choice, type CompiledDecision, partitionKeyOf } from '@waymark/domain'
import type { BackgroundPublisher } from '@waymark/pipeline'
import { LRUCache } from 'lru-cache'
import { type Asker, exposureOf } from './answers.ts'

const MAX_REMEMBERED = 100_000

/**
 * Publishes exposures, as far as this process knows once per decision, variant, person and day (UTC); the store drops
 * the repeats of other processes.
 */
export const createExpose = (publisher: Pick<BackgroundPublisher<Exposure>, 'add'>) => {
  const told = new LRUCache<string, true>({ max: MAX_REMEMBERED })
  return (compiled: CompiledDecision, choice: Choice, asker: Asker): void => {
    const person = asker.profileId ?? asker.subject
    const name = `${compiled.decision.id}:${choice.variant}:${asker.decidedAt.slice(0, 10)}:${person}`
    if (told.has(name)) return
    const value = exposureOf(compiled, choice, asker)
    const key = partitionKeyOf(value.projectId, { ...value, eventId: value.subject })
    if (publisher.add({ key, value })) told.set(name, true)
  }
}

export type Expose = ReturnType<typeof createExpose>
