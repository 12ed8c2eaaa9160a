import type { EnrichedEvent } from '@waymark/contracts'
import type { Delivery } from '@waymark/event-bus'
import { createStoreInBoth, type StoreInBothDeps } from '@waymark/pipeline'

/** Stores a batch of enriched events in both stores, each event once, and resolves when both have it. */
export const createPersistEvents = (deps: StoreInBothDeps) => {
  const storeInBoth = createStoreInBoth(deps)
  return async (batch: readonly Delivery<EnrichedEvent>[]): Promise<undefined> => {
    await storeInBoth(batch.map(({ value }) => value))
  }
}
