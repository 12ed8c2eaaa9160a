import { EventEmitter } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '@waymark/contracts/log'
import { PUBLISH_DEADLINE_MS } from '@waymark/contracts/request-budget'
import pg from 'pg'
import { BusUnavailableError } from '../port.ts'
import { type AppendedRecord, insertRecords, lockLog, type PartitionEnd, readEnds } from './log-queries.ts'

type Pending = { records: readonly AppendedRecord[]; resolve: () => void; reject: (error: Error) => void }

const MAX_ROWS_PER_COMMIT = 5_000
// Longer, because the database cache may be cold at the start.
const OPEN_DEADLINE_MS = 60_000
const DISCONNECT_TIMEOUT_MS = 500

/**
 * The only writer of the embedded log. It assigns offsets, and advances the end of a partition only after the commit, so
 * that a reader never skips a row that is not committed yet. Records published at the same time share one commit.
 */
export const createAppender = (databaseUrl: string, log: Log) => {
  const appended = new EventEmitter().setMaxListeners(0)
  const ends = new Map<string, PartitionEnd>()
  const queue: Pending[] = []
  let client: pg.Client | undefined
  let writing: Promise<void> | undefined
  let closed = false

  // The connection that inserts also holds the lock, so that both are lost together.
  const connect = async (readEndsWithinMs = PUBLISH_DEADLINE_MS): Promise<pg.Client> => {
    if (client) return client
    const fresh = new pg.Client({
      connectionString: databaseUrl,
      application_name: 'waymark-log',
      connectionTimeoutMillis: 3_000,
      query_timeout: PUBLISH_DEADLINE_MS,
    })
    fresh.on('error', (error) => {
      log.warn({ err: error }, 'Event log lost its database connection')
      if (client === fresh) client = undefined
    })
    await fresh.connect()
    try {
      if (!(await lockLog(fresh))) throw new BusUnavailableError('Another process writes to this event log')
      for (const { topic, partition, end } of await readEnds(fresh, readEndsWithinMs))
        advance(topic, partition, end)
    } catch (error) {
      await fresh.end().catch(() => {})
      throw error
    }
    client = fresh
    return fresh
  }

  const disconnect = async (): Promise<void> => {
    const current = client
    client = undefined
    if (!current) return
    const timeout = sleep(DISCONNECT_TIMEOUT_MS, undefined, { ref: false })
    await Promise.race([current.end().catch(() => {}), timeout])
  }

  const endOf = (topic: string, partition: number): bigint => ends.get(`${topic}/${partition}`)?.end ?? 0n

  const advance = (topic: string, partition: number, to: bigint): void => {
    if (to <= endOf(topic, partition)) return
    const slot = `${topic}/${partition}`
    ends.set(slot, { topic, partition, end: to })
    appended.emit(slot)
  }

  const insert = async (records: AppendedRecord[]): Promise<void> => {
    const connection = await connect()
    const upcoming = new Map<string, bigint>()
    const placed = records.map((record) => {
      const slot = `${record.topic}/${record.partition}`
      const offset = upcoming.get(slot) ?? endOf(record.topic, record.partition)
      upcoming.set(slot, offset + 1n)
      return { ...record, offset }
    })
    await insertRecords(connection, placed)
    for (const record of records) {
      const slot = `${record.topic}/${record.partition}`
      advance(record.topic, record.partition, upcoming.get(slot) ?? 0n)
    }
  }

  const takeBatch = (): Pending[] => {
    let rows = 0
    const fitting = queue.findIndex(({ records }, index) => {
      rows += records.length
      return index > 0 && rows > MAX_ROWS_PER_COMMIT
    })
    return queue.splice(0, fitting === -1 ? queue.length : fitting)
  }

  const writeAll = async (): Promise<void> => {
    while (queue.length > 0) {
      const batch = takeBatch()
      try {
        await insert(batch.flatMap(({ records }) => records))
        for (const { resolve } of batch) resolve()
      } catch (error) {
        // Whether it was committed is unknown, so the next connection reads the ends again.
        await disconnect()
        for (const { reject } of batch)
          reject(new BusUnavailableError('The event log could not be written', { cause: error }))
      }
    }
  }

  // Delayed by a turn of the event loop, so that concurrent requests share a commit.
  const write = (): void => {
    writing ??= new Promise((resolve) => setImmediate(resolve)).then(writeAll).finally(() => {
      writing = undefined
      if (queue.length > 0) write()
    })
  }

  return {
    /** Takes the lock and reads the end of each partition. @throws BusUnavailableError when another process writes */
    open: async (): Promise<void> => {
      await connect(OPEN_DEADLINE_MS)
    },
    /** Resolves when the records are committed. @throws BusUnavailableError when that failed or is unknown */
    append: (records: readonly AppendedRecord[]): Promise<void> =>
      new Promise((resolve, reject) => {
        if (closed) return reject(new BusUnavailableError('The event log is closed'))
        queue.push({ records, resolve, reject })
        write()
      }),
    /** One past the last committed offset of a partition. */
    endOf,
    /** The end of every partition that has or had records. */
    ends: (): PartitionEnd[] => [...ends.values()],
    /** Calls `callback` after each commit of records to a partition. Returns a function that ends this. */
    onAppend: (topic: string, partition: number, callback: () => void): (() => void) => {
      const slot = `${topic}/${partition}`
      appended.on(slot, callback)
      return () => appended.off(slot, callback)
    },
    close: async (): Promise<void> => {
      closed = true
      while (writing !== undefined) await writing
      await disconnect()
    },
  }
}

export type Appender = ReturnType<typeof createAppender>
