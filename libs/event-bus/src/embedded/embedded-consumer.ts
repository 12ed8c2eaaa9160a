import type { Log } from '@waymark/contracts/log'
import type { Pool } from 'pg'
import { backOff, type Deliver } from '../delivery.ts'
import type { Consumer } from '../port.ts'
import type { Appender } from './appender.ts'
import type { GroupMembers } from './group-members.ts'
import { commitOffset, readOffset, readRecords } from './log-queries.ts'

/** A batch ends with the row that exceeds this size. */
const MAX_BATCH_BYTES = 4 * 1024 * 1024

/** Consumes one topic of the embedded log for one group. Members of a group share its partitions. */
export const createEmbeddedConsumer = (
  {
    pool,
    appender,
    members,
    deliver,
    log,
  }: { pool: Pool; appender: Appender; members: GroupMembers; deliver: Deliver; log: Log },
  { group, topic, maxBatchRecords }: { group: string; topic: string; maxBatchRecords: number },
): Consumer => {
  const running = new Map<number, { stop: AbortController; done: Promise<void> }>()

  const waitForMore = (partition: number, from: bigint, signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const finish = () => {
        stopListening()
        signal.removeEventListener('abort', finish)
        resolve()
      }
      const stopListening = appender.onAppend(topic, partition, finish)
      signal.addEventListener('abort', finish)
      if (signal.aborted || appender.endOf(topic, partition) > from) finish()
    })

  const consume = async (partition: number, signal: AbortSignal): Promise<void> => {
    let position: bigint | undefined
    for (let attempt = 1; !signal.aborted; ) {
      try {
        position ??= await readOffset(pool, { group, topic, partition })
        const end = appender.endOf(topic, partition)
        const records = await readRecords(
          pool,
          { topic, partition, from: position, to: end },
          { records: maxBatchRecords, bytes: MAX_BATCH_BYTES },
        )
        const last = records.at(-1)
        if (last) {
          await deliver(records, signal)
          await commitOffset(pool, { group, topic, partition }, last.offset + 1n)
          position = last.offset + 1n
        } else {
          // The records before the end were deleted. Waiting at `position` would return at once.
          if (end > position) position = end
          await waitForMore(partition, position, signal)
        }
        attempt = 1
      } catch (error) {
        if (signal.aborted) return
        log.warn({ group, topic, partition, err: error }, 'Reading the event log failed; retrying')
        // Whether the offset was committed is unknown, so read it again.
        position = undefined
        await backOff(attempt++, signal).catch(() => {})
      }
    }
  }

  const assign = (partitions: number[]): void => {
    for (const [partition, { stop }] of running) if (!partitions.includes(partition)) stop.abort()
    for (const partition of partitions) {
      const current = running.get(partition)
      if (current && !current.stop.signal.aborted) continue
      const stop = new AbortController()
      const done = members.exclusively(`${group}/${topic}`, partition, () => consume(partition, stop.signal))
      running.set(partition, { stop, done })
    }
  }

  const member = { assign }
  return {
    start: async () => members.join(`${group}/${topic}`, member),
    stop: async () => {
      members.leave(`${group}/${topic}`, member)
      for (const { stop } of running.values()) stop.abort()
      await Promise.all([...running.values()].map(({ done }) => done))
    },
  }
}
