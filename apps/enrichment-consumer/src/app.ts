import { consumerGroups } from '@waymark/contracts/topics'
import { createPersonChanges } from '@waymark/pipeline'
import type { CorePlatform, Service } from '@waymark/service-kit'
import { createEnrichRecords } from './enrich-records.ts'

/** Turns accepted records into the public stream of enriched events. */
export const createEnrichmentConsumer = ({ bus, db, marks, locate, log }: CorePlatform): Service => ({
  consumers: [
    bus.subscribe({
      ...consumerGroups.enrichment,
      handle: createEnrichRecords({ bus, db, personChanges: createPersonChanges(marks), log, locate }),
    }),
  ],
})
