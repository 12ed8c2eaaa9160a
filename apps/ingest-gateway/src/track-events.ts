import {
  AppError,
  type AsyncTrackResult,
  type EventErrors,
  type IngestRecord,
  type InvalidEvent,
  ingestRecords,
  MAX_EVENT_BYTES,
  type SyncTrackResult,
  type ValidationItem,
} from '@waymark/contracts'
import { acceptEvent, partitionKeyOf } from '@waymark/domain'
import { BusUnavailableError, type EventBus } from '@waymark/event-bus'
import { v7 as uuidv7 } from 'uuid'
import type { TrackRequest } from './track-request.ts'

/** Who sends the events, as far as the connection tells. */
export type Sender = {
  projectId: string
  /** Whether the events themselves may say whose device they come from; browsers may not. */
  speaksForOthers: boolean
  ip: string | null
  userAgent: string | null
}

export type TrackEventsDeps = {
  bus: EventBus
  processAtOnce: (records: readonly IngestRecord[]) => Promise<void>
  clock: () => number
}

const QUEUE_RETRY_AFTER_S = 60

type Sorted = { records: IngestRecord[]; invalid: InvalidEvent[]; problems: EventErrors[] }

/** Accepts events: into the queue, or at once into the stores. */
export const createTrackEvents = ({ bus, processAtOnce, clock }: TrackEventsDeps) => {
  const sort = ({ rawEvents, sentAt }: TrackRequest, sender: Sender, bodyBytes: number): Sorted => {
    const receivedAtMs = clock()
    const receivedAt = new Date(receivedAtMs).toISOString()
    const context = { receivedAtMs, newEventId: () => uuidv7(), mayExceedSize: bodyBytes > MAX_EVENT_BYTES }
    const sorted: Sorted = { records: [], invalid: [], problems: [] }
    rawEvents.forEach((raw, index) => {
      const result = acceptEvent(raw, context)
      if (!result.accepted) {
        const { eventName, problem, rawSample } = result
        sorted.invalid.push({ index, rawSample, reason: reasonOf(problem) })
        sorted.problems.push({ index, eventName, errors: [problem] })
        return
      }
      const { event, warnings } = result
      if (warnings.length > 0) sorted.problems.push({ index, eventName: event.eventName, errors: warnings })
      const client = clientOf(event.properties, sender)
      sorted.records.push({
        v: 1,
        kind: 'event',
        projectId: sender.projectId,
        receivedAt,
        sentAt,
        client,
        event,
        warnings,
      })
    })
    if (sorted.records.length === 0) {
      const { invalid } = sorted
      throw new AppError('bad_request', 'No event is structurally valid', {
        accepted: 0,
        failed: invalid.length,
        invalid,
      })
    }
    return sorted
  }

  return {
    /**
     * Resolves when every valid event is durable in the queue.
     * @throws AppError bad_request when no event is valid, queue_unavailable when the queue does not confirm
     */
    enqueue: async (request: TrackRequest, sender: Sender, bodyBytes: number): Promise<AsyncTrackResult> => {
      const { records, invalid } = sort(request, sender, bodyBytes)
      const outgoing = records.map((value) => ({ key: partitionKeyOf(value.projectId, value.event), value }))
      await bus.publish(ingestRecords, outgoing).catch((error) => {
        if (!(error instanceof BusUnavailableError)) throw error
        throw new AppError(
          'queue_unavailable',
          'QUEUE_UNAVAILABLE',
          { retryAfter: QUEUE_RETRY_AFTER_S },
          { cause: error },
        )
      })
      const accepted = records.length
      return {
        accepted,
        failed: invalid.length,
        queued: accepted,
        processed: false,
        ...(invalid.length > 0 && { invalid }),
      }
    },

    /**
     * Resolves when every valid event can be read from both stores.
     * @throws AppError bad_request when no event is valid, store_unavailable when a store does not answer
     */
    process: async (request: TrackRequest, sender: Sender, bodyBytes: number): Promise<SyncTrackResult> => {
      const { records, invalid, problems } = sort(request, sender, bodyBytes)
      await processAtOnce(records)
      const counts = { accepted: records.length, failed: invalid.length, queued: 0, processed: true } as const
      return { ...counts, ...(problems.length > 0 && { errors: problems }) }
    },
  }
}

const reasonOf = ({ field, message }: ValidationItem): string =>
  field === '' ? `the event ${message}` : `${field} ${message}`

const clientOf = (properties: Record<string, unknown>, sender: Sender): IngestRecord['client'] => {
  if (!sender.speaksForOthers) return { ip: sender.ip, userAgent: sender.userAgent }
  const { ip, userAgent } = properties
  return {
    ip: typeof ip === 'string' ? ip : null,
    userAgent: typeof userAgent === 'string' ? userAgent : null,
  }
}
