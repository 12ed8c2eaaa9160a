import type { Log } from '@waymark/contracts'
import type { Pool } from 'pg'
import { backOff, type Deliver, type RawRecord } from '../delivery.ts'
import type { Consumer } from '../port.ts'
import type { Appender } from './appender.ts'
import type { GroupMembers } from './group-members.ts'

type Row = { offset: string; key: string; value: string; headers: Record<string, string> | null }

/** A batch ends with the row that exceeds this size. */
const MAX_BATCH_BYTES = 4 * 1024 * 1024

const READ = `
  SELECT "offset", key, value, headers FROM (
    SELECT *, sum(octet_length(value)) OVER (ORDER BY "offset") - octet_length(value) AS bytes_before FROM (
      SELECT "offset", key, value, headers FROM bus.log
      WHERE topic = $1 AND "partition" = $2 AND "offset" >= $3 AND "offset" < $4
      ORDER BY "offset" LIMIT $5
    ) AS page
  ) AS sized WHERE bytes_before < $6 ORDER BY "offset"`

const COMMIT = `
  INSERT INTO bus.log_offsets (consumer_group, topic, "partition", next) VALUES ($1, $2, $3, $4)
  ON CONFLICT (consumer_group, topic, "partition") DO UPDATE SET next = excluded.next`

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

  const readFrom = async (partition: number, from: bigint, to: bigint): Promise<RawRecord[]> => {
    const { rows } = await pool.query<Row>({
      name: 'read-log',
      text: READ,
      values: [topic, partition, from.toString(), to.toString(), maxBatchRecords, MAX_BATCH_BYTES],
    })
    return rows.map(({ offset, key, value, headers }) => ({
      partition,
      offset: BigInt(offset),
      key,
      value: Buffer.from(value),
      headers: headers ?? {},
    }))
  }

  const committedOffset = async (partition: number): Promise<bigint> => {
    const { rows } = await pool.query<{ next: string }>(
      'SELECT next::text FROM bus.log_offsets WHERE consumer_group = $1 AND topic = $2 AND "partition" = $3',
      [group, topic, partition],
    )
    return BigInt(rows[0]?.next ?? 0)
  }

  const commit = (partition: number, next: bigint) =>
    pool.query({ name: 'commit-offset', text: COMMIT, values: [group, topic, partition, next.toString()] })

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
        position ??= await committedOffset(partition)
        const end = appender.endOf(topic, partition)
        const records = await readFrom(partition, position, end)
        const last = records.at(-1)
        if (last) {
          await deliver(records, signal)
          await commit(partition, last.offset + 1n)
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
