import type { Exposure } from '@waymark/contracts'
import { partitionKeyOf } from '@waymark/domain'
import type { BackgroundPublisher } from '@waymark/pipeline'
import { LRUCache } from 'lru-cache'

const MAX_REMEMBERED = 100_000

/**
 * Publishes exposures, as far as this process knows once per decision, variant, person and day (UTC); the store drops
 * the repeats of other processes.
 */
export const createExpose = (publisher: Pick<BackgroundPublisher<Exposure>, 'add'>) => {
  const told = new LRUCache<string, true>({ max: MAX_REMEMBERED })
  return (exposure: Exposure): void => {
    const { decisionId, variant, profileId, subject, exposedAt } = exposure
    const name = `${decisionId}:${variant}:${exposedAt.slice(0, 10)}:${profileId ?? subject}`
    if (told.has(name)) return
    const key = partitionKeyOf(exposure.projectId, { ...exposure, eventId: exposure.subject })
    if (publisher.add({ key, value: exposure })) told.set(name, true)
  }
}

export type Expose = ReturnType<typeof createExpose>
