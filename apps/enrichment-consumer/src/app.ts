import { consumerGroups } from '@waymark/contracts/topics'
import { createPersonChanges } from '@waymark/pipeline'
import type { CorePlatform, Service } from '@waymark/service-kit'
import { createEnrichRecords } from './enrich-records.ts'

/** Records that are enriched together: a statement and a publication cost nearly as much with few. */
const MAX_BATCH_RECORDS = 2_000

/** Turns accepted records into the public stream of enriched events. */
export const createEnrichmentConsumer = ({ bus, db, marks, locate, log }: CorePlatform): Service => ({
  consumers: [
    bus.subscribe({
      ...consumerGroups.enrichment,
      maxBatchRecords: MAX_BATCH_RECORDS,
      handle: createEnrichRecords({ bus, db, personChanges: createPersonChanges(marks), log, locate }),
    }),
  ],
})
