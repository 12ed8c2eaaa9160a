import { AppError } from '@waymark/contracts/app-error'
import type {
  AsyncTrackResult,
  EventErrors,
  SyncTrackResult,
  ValidationItem,
} from '@waymark/contracts/http/track-result'
import type { IngestRecord } from '@waymark/contracts/records/ingest-record'
import type { RejectedEvent } from '@waymark/contracts/records/quarantine-records'
import { ingestRecords, rejectedEvents } from '@waymark/contracts/topics'
import { partitionKeyOf } from '@waymark/domain/ingestion'
import { BusUnavailableError } from '@waymark/event-bus'
import type { IngestQueue } from '@waymark/pipeline'
import type { createIntake, Intake, IntakeOptions, Sender, TrackRequest } from './intake.ts'

type TrackEventsDeps = {
  intake: ReturnType<typeof createIntake>
  queue: IngestQueue
  /** Stores events and returns the indexes of those whose ids belong to other events. */
  processSync: (records: readonly IngestRecord[]) => Promise<readonly number[]>
  /** Called with events that are durable. */
  onAccepted?: (records: readonly IngestRecord[]) => void
}

/** Accepts events: puts them into the queue, or writes them to the stores synchronously. */
export const createTrackEvents = ({ intake, queue, processSync, onAccepted = () => {} }: TrackEventsDeps) => {
  const orUnavailable = async (work: Promise<void>): Promise<void> => {
    try {
      await work
    } catch (error) {
      if (!(error instanceof BusUnavailableError)) throw error
      throw queueUnavailable(error)
    }
  }

  const quarantine = (rejected: readonly RejectedEvent[]): Promise<void> =>
    orUnavailable(
      queue.enqueue(
        rejectedEvents,
        rejected.map((value) => ({ key: keyOf(value.record), value })),
      ),
    )

  /** One batch for the request, so that it is acknowledged or repeated as a whole. */
  const enqueueConversions = (records: readonly IngestRecord[]): Promise<void> =>
    orUnavailable(queue.enqueueOnBus(ingestRecords, outgoing(records)))

  /** Keeps the generated ids for a repeat of the request, also when it succeeds after its deadline. */
  const keepingIds = async (
    generatedIds: Intake['generatedIds'],
    { onClientTimeout }: Pick<IntakeOptions, 'onClientTimeout'>,
    work: Promise<void>,
  ): Promise<void> => {
    let timedOut = false
    onClientTimeout(() => {
      timedOut = true
      void intake.rememberIds(generatedIds)
    })
    try {
      await work
    } catch (error) {
      await intake.rememberIds(generatedIds)
      throw error
    }
    if (!timedOut) await intake.forgetIds(generatedIds)
  }

  return {
    /**
     * Resolves when every valid event is durable: on the bus, or in the spool if none of them is a conversion.
     * @throws AppError bad_request when no event is valid, queue_unavailable when neither accepts them
     */
    enqueue: async (
      request: TrackRequest,
      sender: Sender,
      options: IntakeOptions,
    ): Promise<AsyncTrackResult> => {
      const { records, rejected, invalid, generatedIds } = await intake.sort(request, sender, options)
      const queued = records.some(hasConversions)
        ? keepingIds(generatedIds, options, enqueueConversions(records))
        : orUnavailable(queue.enqueue(ingestRecords, outgoing(records)))
      await options.whileQueueing(queued.then(() => quarantine(rejected)))
      onAccepted(records)
      return {
        accepted: records.length,
        failed: invalid.length,
        queued: records.length,
        processed: false,
        ...(invalid.length > 0 && { invalid }),
      }
    },

    /**
     * Resolves when every valid event can be read from both stores. Conversions are queued before that.
     * @throws AppError bad_request when no event is structurally valid, unprocessable when validation rejected all,
     * queue_unavailable or store_unavailable when a dependency does not answer
     */
    process: async (
      request: TrackRequest,
      sender: Sender,
      options: IntakeOptions,
    ): Promise<SyncTrackResult> => {
      const sorted = await intake.sort(request, sender, options, { sync: true })
      const { records, rejected, invalid, generatedIds } = sorted
      await options.whileQueueing(quarantine(rejected))
      const conversions = records.filter(hasConversions)
      let duplicates: readonly number[] = []
      const store = async (): Promise<void> => {
        if (conversions.length > 0) await options.whileQueueing(enqueueConversions(conversions))
        if (records.length > 0) duplicates = await processSync(records)
      }
      await keepingIds(generatedIds, options, store())
      const isDuplicate = new Set(duplicates)
      onAccepted(records.filter((_, index) => !isDuplicate.has(index)))
      const problems = withDuplicates(sorted, duplicates)
      const accepted = records.length - duplicates.length
      const result: SyncTrackResult = {
        accepted,
        failed: invalid.length + duplicates.length,
        queued: records.filter((record, at) => hasConversions(record) && !isDuplicate.has(at)).length,
        processed: true,
        ...(problems.length > 0 && { errors: [...problems] }),
        ...(rejected.length > 0 && { enforceRejected: rejected.length }),
      }
      if (accepted === 0 && rejected.length > 0)
        throw new AppError('unprocessable', 'Validation rejected every event', result)
      return result
    },
  }
}

/** All errors and warnings, including those of events whose ids belong to other events. */
const withDuplicates = (
  { records, indexes, problems }: Intake,
  duplicates: readonly number[],
): readonly EventErrors[] => {
  if (duplicates.length === 0) return problems
  const byIndex = new Map(problems.map((problem) => [problem.index, problem]))
  for (const duplicate of duplicates) {
    const { event } = records[duplicate] as IngestRecord
    const index = indexes[duplicate] as number
    const errors = [...(byIndex.get(index)?.errors ?? []), duplicateOf(event.eventId)]
    byIndex.set(index, { index, eventName: event.eventName, errors })
  }
  return [...byIndex.values()].sort((a, b) => a.index - b.index)
}

// The other event's name is left out: a write key must not read events.
const duplicateOf = (eventId: string): ValidationItem => ({
  field: 'eventId',
  rule: 'duplicate_event_id',
  actual: eventId,
  message: 'is the id of an event with another name; this event is not stored, send it with an id of its own',
})

const hasConversions = ({ conversions = [] }: IngestRecord): boolean => conversions.length > 0

const keyOf = ({ projectId, event }: IngestRecord) => partitionKeyOf(projectId, event)

const outgoing = (records: readonly IngestRecord[]) => records.map((value) => ({ key: keyOf(value), value }))

const QUEUE_RETRY_AFTER_S = 60

/** 503 when neither the bus nor the spool accepts the events. */
export const queueUnavailable = (cause: unknown): AppError =>
  new AppError('queue_unavailable', 'QUEUE_UNAVAILABLE', { retryAfter: QUEUE_RETRY_AFTER_S }, { cause })
