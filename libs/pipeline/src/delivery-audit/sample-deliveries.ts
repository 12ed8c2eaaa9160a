import { crc32 } from 'node:zlib'
import type { IngestRecord } from '@waymark/contracts/records/ingest-record'
import { eventKeyOf } from '@waymark/domain/ingestion'
import type { Pool } from 'pg'
import { addSamples, type Sample } from './sample-queries.ts'

/** Most samples that a process keeps until they are written; more are dropped, so that memory and database stay free. */
const MAX_WAITING = 1_000

/** Takes one of `oneIn` acknowledged events, the same ones in each process, for the delivery audit; none with 0. */
export const createDeliverySampler = ({ pool, oneIn }: { pool: Pool; oneIn: number }) => {
  let waiting: Sample[] = []
  const isSampled = ({ event }: IngestRecord): boolean => crc32(event.eventId) % oneIn === 0
  return {
    /** Call it with events that are durable, before their client gets an answer. */
    sample: (records: readonly IngestRecord[]): void => {
      if (oneIn === 0) return
      for (const record of records)
        if (waiting.length < MAX_WAITING && isSampled(record)) waiting.push(sampleOf(record))
    },
    /** Writes what was sampled. Call it once a second. What could not be written is kept for the next call. */
    storeSamples: async (): Promise<void> => {
      const taken = waiting
      waiting = []
      try {
        await addSamples(pool, taken)
      } catch (error) {
        waiting = [...taken, ...waiting].slice(0, MAX_WAITING)
        throw error
      }
    },
  }
}

const sampleOf = ({ projectId, receivedAt, event, conversions = [] }: IngestRecord): Sample => {
  const received = Date.parse(receivedAt)
  const occurred = Date.parse(event.clientTimestamp ?? receivedAt)
  return {
    projectId,
    eventKey: eventKeyOf(event.eventId),
    receivedAt: received,
    occurredAt: Number.isNaN(occurred) ? received : occurred,
    conversions: conversions.length,
  }
}
