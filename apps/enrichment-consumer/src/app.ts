import { ingestRecords } from '@waymark/contracts'
import type { Platform, Service } from '@waymark/service-kit'
import { createEnrichRecords } from './enrich-records.ts'

/** Turns accepted records into the public stream of enriched events. */
export const createEnrichmentConsumer = ({ bus, db, locate }: Platform): Service => ({
  consumers: [
    bus.subscribe({
      group: 'enrichment',
      topic: ingestRecords,
      handle: createEnrichRecords({ bus, db, locate }),
    }),
  ],
})
