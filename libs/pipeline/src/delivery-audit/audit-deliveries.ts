import type { Log } from '@waymark/contracts/log'
import type { Database } from '@waymark/database'
import type { EventBus } from '@waymark/event-bus'
import type { EventKey, EventWrites } from '@waymark/event-store'
import { isStoreUnavailable } from '../events/index.ts'
import { readOldestWaiting } from '../outbox/index.ts'
import { createProcessedUntil } from './processed-until.ts'
import {
  findExcused,
  findWithoutConversions,
  type OutcomeCount,
  type Sample,
  type SettledSample,
  settleSamples,
  takeSamples,
} from './sample-queries.ts'

/** The values that the time of an event until it can be read is rounded up to, in seconds. Longer times are the last. */
export const DELIVERY_SECONDS = [1, 2, 3, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600, 86_400] as const
/** Most samples of one check. */
const BATCH = 500
/** Samples that are older and not found make it look how far the pipeline is, in ms. */
const LATE_MS = 10_000

type DeliveryAuditDeps = {
  db: Pick<Database, 'pool'>
  bus: Pick<EventBus, 'readLag'>
  eventStore: Pick<EventWrites, 'findEventNames'>
  /** The current time in ms. */
  now: () => number
  log: Log
  /** Called with what became of samples. */
  onSettled?: (counts: readonly OutcomeCount[]) => void
}

/**
 * Checks that the stores have what was acknowledged: each sampled event once in the event store, with all its conversions.
 * An event that is not there is missing only once the pipeline has processed everything that was accepted before it, so an
 * outage or a backlog delays the answer and never falsifies it.
 * @returns a function that checks a batch and returns its size
 */
export const createDeliveryAudit = ({
  db,
  bus,
  eventStore,
  now,
  log,
  onSettled = () => {},
}: DeliveryAuditDeps) => {
  const oldestWaiting = () => readOldestWaiting(db.pool)
  const lookAtPipeline = createProcessedUntil({ bus, oldestWaiting, now })
  let processedUntil = Number.NEGATIVE_INFINITY

  /** Those that the stores lack although they were processed before this was called. */
  const judge = async (absent: readonly Sample[], until: number): Promise<SettledSample[]> => {
    const due = absent.filter(({ receivedAt }) => receivedAt <= until)
    const isExcused = among(await findExcused(db.pool, due))
    return due.map((sample) => ({
      ...keyOf(sample),
      outcome: isExcused(sample) ? 'excused' : 'missing',
      seconds: 0,
    }))
  }

  const check = async (
    samples: readonly Sample[],
  ): Promise<{ settled: SettledSample[]; isLate: boolean }> => {
    // Before the look-up: what had been processed by then, it finds.
    const until = processedUntil
    const found = countByKey(await eventStore.findEventNames(samples.map(keyOf)))
    const timesOf = (sample: Sample): number => found.get(textOf(sample)) ?? 0
    const present = samples.filter((sample) => timesOf(sample) > 0)
    const isIncomplete = among(await findWithoutConversions(db.pool, present))
    const absent = samples.filter((sample) => timesOf(sample) === 0 || isIncomplete(sample))
    const stored = present.filter((sample) => !isIncomplete(sample))
    const isLate = absent.some(({ receivedAt }) => receivedAt > until && receivedAt < now() - LATE_MS)
    const settled = [
      ...stored.map(
        (sample): SettledSample => ({
          ...keyOf(sample),
          ...(timesOf(sample) > 1
            ? { outcome: 'duplicated', seconds: 0 }
            : { outcome: 'stored', seconds: roundUp((now() - sample.receivedAt) / 1_000) }),
        }),
      ),
      ...(await judge(absent, until)),
    ]
    return { settled, isLate }
  }

  return async (): Promise<number> => {
    const samples = await takeSamples(db.pool, now(), BATCH)
    if (samples.length === 0) return 0
    const checked = await check(samples).catch((error) => {
      // The samples are due again later.
      if (isStoreUnavailable(error)) return undefined
      throw error
    })
    if (!checked) return 0
    const { settled, isLate } = checked
    for (const { outcome, projectId, eventKey } of settled)
      if (outcome === 'missing' || outcome === 'duplicated')
        log.error({ projectId, eventKey }, `An acknowledged event is ${outcome}`)
    onSettled(await settleSamples(db.pool, settled, now()))
    if (isLate) processedUntil = await lookAtPipeline()
    return samples.length
  }
}

const keyOf = ({ projectId, eventKey }: EventKey): EventKey => ({ projectId, eventKey })
const textOf = ({ projectId, eventKey }: EventKey): string => `${projectId}/${eventKey}`

const among = (keys: readonly EventKey[]) => {
  const texts = new Set(keys.map(textOf))
  return (key: EventKey): boolean => texts.has(textOf(key))
}

const countByKey = (keys: readonly EventKey[]): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const key of keys.map(textOf)) counts.set(key, (counts.get(key) ?? 0) + 1)
  return counts
}

const roundUp = (seconds: number): number =>
  DELIVERY_SECONDS.find((bound) => seconds <= bound) ?? DELIVERY_SECONDS.at(-1) ?? 0
