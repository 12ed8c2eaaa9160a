import {
  AppError,
  type AsyncTrackResult,
  type IngestRecord,
  ingestRecords,
  type RejectedEvent,
  rejectedEvents,
  type SyncTrackResult,
} from '@waymark/contracts'
import { compactRecordOf, partitionKeyOf } from '@waymark/domain'
import { BusUnavailableError } from '@waymark/event-bus'
import type { IngestQueue } from '@waymark/pipeline'
import type { createIntake, Intake, IntakeOptions, Sender } from './intake.ts'
import type { TrackRequest } from './track-request.ts'

export type TrackEventsDeps = {
  intake: ReturnType<typeof createIntake>
  queue: IngestQueue
  processAtOnce: (records: readonly IngestRecord[]) => Promise<void>
}

const QUEUE_RETRY_AFTER_S = 60

/** Accepts events: into the queue, or at once into the stores. */
export const createTrackEvents = ({ intake, queue, processAtOnce }: TrackEventsDeps) => {
  const orUnavailable = async (work: Promise<void>): Promise<void> => {
    try {
      await work
    } catch (error) {
      if (!(error instanceof BusUnavailableError)) throw error
      throw new AppError(
        'queue_unavailable',
        'QUEUE_UNAVAILABLE',
        { retryAfter: QUEUE_RETRY_AFTER_S },
        { cause: error },
      )
    }
  }

  const quarantine = (rejected: readonly RejectedEvent[]): Promise<void> =>
    orUnavailable(
      queue.enqueue(
        rejectedEvents,
        rejected.map((value) => ({ key: keyOf(value.record), value })),
      ),
    )

  /** All of a request in one batch, so that it is acknowledged as a whole or repeated as a whole. */
  const enqueueMetering = (records: readonly IngestRecord[]): Promise<void> =>
    orUnavailable(queue.enqueueOnBus(ingestRecords, outgoing(records)))

  /** Whoever has to repeat the request gets the ids again that were made for it, also when it succeeds too late. */
  const keepingIds = async (
    madeIds: Intake['madeIds'],
    { whenGivenUp }: Pick<IntakeOptions, 'whenGivenUp'>,
    work: Promise<void>,
  ): Promise<void> => {
    let givenUp = false
    whenGivenUp(() => {
      givenUp = true
      void intake.rememberIds(madeIds)
    })
    try {
      await work
    } catch (error) {
      await intake.rememberIds(madeIds)
      throw error
    }
    if (!givenUp) await intake.forgetIds(madeIds)
  }

  const whenQueued = async (
    queued: Promise<void>,
    rejected: readonly RejectedEvent[],
    result: AsyncTrackResult,
  ): Promise<AsyncTrackResult> => {
    await queued
    await quarantine(rejected)
    return result
  }

  return {
    /**
     * Resolves when every valid event is durable: on the bus, or in the spool if none of them is a conversion.
     * @throws AppError bad_request when no event is valid, queue_unavailable when nothing takes them
     */
    enqueue: (request: TrackRequest, sender: Sender, options: IntakeOptions): Promise<AsyncTrackResult> =>
      // An async function would keep its arguments, and with them every event as it came, until Kafka has answered.
      intake.sort(request, sender, options).then(({ records, rejected, invalid, madeIds }) => {
        const queued = records.some(isMetering)
          ? keepingIds(madeIds, options, enqueueMetering(records))
          : orUnavailable(queue.enqueue(ingestRecords, outgoing(records)))
        return whenQueued(queued, rejected, {
          accepted: records.length,
          failed: invalid.length,
          queued: records.length,
          processed: false,
          ...(invalid.length > 0 && { invalid }),
        })
      }),

    /**
     * Resolves when every valid event can be read from both stores; conversions have gone to the queue before.
     * @throws AppError bad_request when no event is structurally valid, unprocessable when validation rejected all,
     * queue_unavailable or store_unavailable when a part does not answer
     */
    process: async (
      request: TrackRequest,
      sender: Sender,
      options: IntakeOptions,
    ): Promise<SyncTrackResult> => {
      const sorted = await intake.sort(request, sender, options, { repeatable: true })
      const { records, rejected, invalid, problems, madeIds } = sorted
      await quarantine(rejected)
      const metering = records.filter(isMetering)
      const store = async (): Promise<void> => {
        if (metering.length > 0) await enqueueMetering(metering)
        if (records.length > 0) await processAtOnce(records)
      }
      await keepingIds(madeIds, options, store())
      const result: SyncTrackResult = {
        accepted: records.length,
        failed: invalid.length,
        queued: metering.length,
        processed: true,
        ...(problems.length > 0 && { errors: problems }),
        ...(rejected.length > 0 && { enforceRejected: rejected.length }),
      }
      if (records.length === 0) throw new AppError('unprocessable', 'Validation rejected every event', result)
      return result
    },
  }
}

const isMetering = ({ conversions }: IngestRecord): boolean => conversions.length > 0

const keyOf = ({ projectId, event }: IngestRecord) => partitionKeyOf(projectId, event)

const outgoing = (records: readonly IngestRecord[]) =>
  records.map((record) => ({ key: keyOf(record), value: compactRecordOf(record) }))
