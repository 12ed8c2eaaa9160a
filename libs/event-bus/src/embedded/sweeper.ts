import type { Log } from '@waymark/contracts/log'
import { topics } from '@waymark/contracts/topics'
import type { Pool } from 'pg'
import type { Appender } from './appender.ts'
import { deleteOldRecords, readLowestOffsets } from './log-queries.ts'

const SWEEP_INTERVAL_MS = 60_000
/** Most records that one statement reads and deletes. */
const SWEEP_ROWS = 1_000
/** How long records are kept that every group has read, in ms. */
const KEEP_READ_MS = 24 * 60 * 60 * 1000
const RETENTION_MS = new Map(topics.map(({ name, retentionMs }) => [name, retentionMs]))
// Topics of another version of Waymark may hold personal data too.
const UNKNOWN_RETENTION_MS = Math.max(...RETENTION_MS.values())

/**
 * Deletes old records every minute: those older than a day that every group has read, and for a topic without groups
 * those older than its retention. `hasMembers` returns whether this process subscribed to a topic.
 */
export const startSweeper = ({
  pool,
  appender,
  hasMembers,
  log,
}: {
  pool: Pool
  appender: Appender
  hasMembers: (topic: string) => boolean
  log: Log
}) => {
  let stopped = false
  let sweeping: Promise<void> | undefined

  const sweepPartition = async (
    topic: string,
    partition: number,
    { before, keepMs }: { before: bigint; keepMs: number },
  ): Promise<void> => {
    let deleted: number
    do {
      deleted = await deleteOldRecords(pool, { topic, partition, before, keepMs }, SWEEP_ROWS)
    } while (deleted === SWEEP_ROWS && !stopped)
  }

  const sweep = async (): Promise<void> => {
    const offsets = await readLowestOffsets(pool)
    const hasGroups = (topic: string) => hasMembers(topic) || offsets.some((row) => row.topic === topic)
    for (const { topic, partition, end } of appender.ends()) {
      if (hasGroups(topic)) {
        const read = offsets.find((row) => row.topic === topic && row.partition === partition)
        if (read) await sweepPartition(topic, partition, { before: read.next, keepMs: KEEP_READ_MS })
      } else {
        const keepMs = RETENTION_MS.get(topic) ?? UNKNOWN_RETENTION_MS
        await sweepPartition(topic, partition, { before: end, keepMs })
      }
    }
  }

  const timer = setInterval(() => {
    sweeping ??= sweep()
      .catch((error) => log.warn({ err: error }, 'Old records could not be deleted from the event log'))
      .finally(() => {
        sweeping = undefined
      })
  }, SWEEP_INTERVAL_MS)
  timer.unref()

  return {
    /** Resolves when the running statement has ended. */
    stop: async (): Promise<void> => {
      stopped = true
      clearInterval(timer)
      await sweeping
    },
  }
}
