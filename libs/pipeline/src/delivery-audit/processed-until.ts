import { type ConsumerGroup, consumerGroups } from '@waymark/contracts/topics'
import type { EventBus, PartitionLag } from '@waymark/event-bus'

/** How far the clocks of processes may differ, in ms. */
const SKEW_MS = 60_000

/** The groups that a record passes one after the other. */
const STAGES: readonly ConsumerGroup[] = [consumerGroups.enrichment, consumerGroups.events]

/** What was in the pipeline at a time. */
type Mark = { at: number; stage: number; ends?: ReadonlyMap<number, bigint> }

type ProcessedUntilDeps = {
  bus: Pick<EventBus, 'readLag'>
  /** When the oldest record that waits to be published was accepted, in ms; `undefined` without any. */
  oldestWaiting: () => Promise<number | undefined>
  /** The current time in ms. */
  now: () => number
}

/**
 * Finds out until when the pipeline has processed all that was accepted: notes what is in the outbox at a time, then the
 * ends of the first topic, and once its group has passed them, those of the next. In other words, it follows the last
 * record that was accepted by then, also under constant load.
 * @returns a function that looks at the pipeline and returns that time in ms, `-Infinity` at first
 */
export const createProcessedUntil = ({ bus, oldestWaiting, now }: ProcessedUntilDeps) => {
  let until = Number.NEGATIVE_INFINITY
  let mark: Mark | undefined

  /** Whether the group has processed what its topic had when the mark came to it. Notes that at first. */
  const hasPassed = async (current: Mark, group: ConsumerGroup): Promise<boolean> => {
    const [lag] = await bus.readLag([group])
    const partitions = lag?.partitions ?? []
    current.ends ??= new Map(partitions.map(({ partition, end }) => [partition, end]))
    return partitions.every((partition) => isPast(partition, current.ends))
  }

  return async (): Promise<number> => {
    mark ??= { at: now(), stage: -1 }
    if (mark.stage === -1) {
      const waiting = await oldestWaiting()
      if (waiting !== undefined && waiting <= mark.at) return until
      mark = { at: mark.at, stage: 0 }
    }
    for (let group = STAGES[mark.stage]; group !== undefined; group = STAGES[mark.stage]) {
      if (!(await hasPassed(mark, group))) return until
      mark = { at: mark.at, stage: mark.stage + 1 }
    }
    until = mark.at - SKEW_MS
    mark = undefined
    return until
  }
}

const isPast = ({ partition, next }: PartitionLag, ends: Mark['ends']): boolean =>
  next >= (ends?.get(partition) ?? 0n)
