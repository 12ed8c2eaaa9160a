import { DOUBLE, type DuckDBConnection, DuckDBInstance, type DuckDBValue, VARCHAR } from '@duckdb/node-api'
import {
  createFairQueue,
  currentWork,
  ownerOfProject,
  type Release,
  type WorkOwner,
} from '@waymark/domain/fairness'
import type { Bindings, QueryOptions } from '../sql/dialect.ts'
import { EventStoreDataError, EventStoreUnavailableError, QueryTimeoutError } from '../store.ts'
import { migrate } from './schema-queries.ts'
import { refuseShortened } from './shortened-file-queries.ts'

export type DuckDBOptions = {
  /** The data file; `:memory:` keeps nothing. */
  path: string
  /** Memory limit of all queries and writes together, in bytes. */
  memoryBytes: number
  /** Number of threads of all queries and writes together. */
  threads: number
  /** Timeout of a query, in ms. */
  queryTimeoutMs: number
  /** How long a query runs in the slot of short queries, in ms; 1 s by default. */
  shortQueryMs?: number
}

// DuckDB's client would bind every integer as BIGINT and refuse those beyond 2^63.
const typesOf = (bindings: Bindings) =>
  Object.fromEntries(
    Object.entries(bindings).map(([name, value]) => [name, typeof value === 'number' ? DOUBLE : VARCHAR]),
  )

/** A statement and its values, by position or by name. */
export type Statement = readonly [text: string, values: DuckDBValue[] | Bindings]

/** A data file that only this process has open. */
export type DuckDBFile = {
  /**
   * Runs statements in one transaction and returns the number of changed rows. Writes wait for each other.
   * @throws EventStoreDataError when a value is refused, EventStoreUnavailableError when the disk or the memory is full
   */
  write(statements: readonly Statement[]): Promise<number>
  /**
   * Returns the rows of a query on a project.
   * @throws QueryTimeoutError after `queryTimeoutMs`, including the wait for other queries; the signal's reason when it
   * aborts
   */
  query<T>(projectId: string, text: string, bindings: Bindings, options?: QueryOptions): Promise<T[]>
  /** Waits for running statements and closes the file. */
  close(): Promise<void>
}

/**
 * Concurrent reports that run until their timeout, one more that runs for `shortQueryMs`, and one list of events. Each
 * occupies a thread of Node's pool, which other parts of the process need, too.
 */
const LONG_QUERIES_AT_ONCE = 2
const SHORT_READER = LONG_QUERIES_AT_ONCE
const LIST_READER = SHORT_READER + 1
/** Concurrent long queries per tenant, so that other tenants need not wait for them. */
const LONG_QUERIES_PER_TENANT = 1
const DEFAULT_SHORT_QUERY_MS = 1_000
/** How often a query runs when others use the memory. */
const ATTEMPTS = 3
/** Part of the memory that queries may not use, so that a write beside them has enough. */
const WRITE_PART = 1 / 8

const INTERRUPT_INTERVAL_MS = 50

/** How messages of DuckDB begin when a value cannot be converted. */
const REFUSED_VALUES = /^Error: (Conversion|Invalid Input|Out of Range) Error/
/** After this error DuckDB refuses every statement until the file is reopened. */
const FATAL = /FATAL Error/
const OUT_OF_MEMORY = /^Error: Out of Memory Error/
const isOutOfMemory = (error: unknown): boolean => OUT_OF_MEMORY.test(String(error))

/** Runs a query on one of the readers. */
type RunQuery<T> = (reader: number, until: AbortSignal) => Promise<T[]>

/**
 * Opens a data file and migrates it.
 * @throws Error when another process has it open, when it is damaged, or when a newer version of Waymark wrote it
 */
export const openDuckDBFile = async (options: DuckDBOptions): Promise<DuckDBFile> => {
  const { queryTimeoutMs, shortQueryMs = DEFAULT_SHORT_QUERY_MS } = options
  const file = await openReopening(options)
  const queries = { what: 'analytics queries', maxWaitMs: queryTimeoutMs }
  const long = createFairQueue({
    ...queries,
    capacity: LONG_QUERIES_AT_ONCE,
    perTenant: LONG_QUERIES_PER_TENANT,
  })
  const short = createFairQueue({ ...queries, capacity: 1 })
  const alone = createFairQueue({ ...queries, capacity: 1 })
  const lists = createFairQueue({ what: 'lists of events', maxWaitMs: queryTimeoutMs, capacity: 1 })
  const writing = createFairQueue({ what: 'analytics writes', capacity: 1 })
  const freeReaders = Array.from({ length: LONG_QUERIES_AT_ONCE }, (_, reader) => reader)
  const running = createRunningQueries()

  const runWrite = (statements: readonly Statement[]): Promise<number> =>
    file.use(({ writer }) => runInTransaction(writer, statements))

  /** Writes with the memory that is reserved for it, and at last without the queries beside it. */
  const writeWithReserve = async (statements: readonly Statement[]): Promise<number> => {
    await file.use(({ setMemory }) => setMemory('all'))
    try {
      return await runWrite(statements)
    } catch (error) {
      if (!isOutOfMemory(error) || running.count() === 0) throw error
      await running.interruptAll()
      return await runWrite(statements)
    } finally {
      await lowerMemory()
    }
  }

  /** Takes the reserve back. A failure does not matter, because the next write that needs it tries again. */
  const lowerMemory = async (): Promise<void> => {
    const lower = () => file.use(({ setMemory }) => setMemory('queries'))
    await lower()
      .catch(async () => {
        // Queries have begun to use it.
        await running.interruptAll()
        await lower()
      })
      .catch(() => {})
  }

  const write = async (statements: readonly Statement[]): Promise<number> => {
    try {
      return await runWrite(statements)
    } catch (error) {
      if (!isOutOfMemory(error)) throw error
      return await writeWithReserve(statements)
    }
  }

  const queryInTurn = async <T>(owner: WorkOwner, run: RunQuery<T>, signal: AbortSignal): Promise<T[]> => {
    const runIfShort = async (): Promise<T[] | undefined> => {
      const limit = AbortSignal.timeout(shortQueryMs)
      try {
        return await run(SHORT_READER, AbortSignal.any([signal, limit]))
      } catch (error) {
        if (signal.aborted || !limit.aborted) throw error
        return undefined
      }
    }
    // While long queries run, others run for a short time beside them. One that takes longer waits and starts again.
    const free = long.tryAcquire(owner)
    const rows = free ? undefined : await short.run(owner, runIfShort, { signal })
    if (rows) return rows
    const release = free ?? (await long.acquire(owner, { signal }))
    try {
      return await runLong(run, signal)
    } finally {
      release()
    }
  }

  const runLong = async <T>(run: RunQuery<T>, signal: AbortSignal): Promise<T[]> => {
    const reader = freeReaders.pop() as number
    try {
      return await run(reader, signal)
    } finally {
      freeReaders.push(reader)
    }
  }

  const queryList = <T>(owner: WorkOwner, run: RunQuery<T>, signal: AbortSignal): Promise<T[]> =>
    lists.run(owner, () => run(LIST_READER, signal), { signal })

  /** Runs a query without other long ones, whose memory it needs. Short ones continue beside it. */
  const queryAlone = <T>(owner: WorkOwner, run: RunQuery<T>, signal: AbortSignal): Promise<T[]> =>
    alone.run(
      owner,
      async () => {
        const releases: Release[] = []
        try {
          // For the process, because one tenant may not have all. The turn above is the tenant's.
          while (releases.length < LONG_QUERIES_AT_ONCE)
            releases.push(await long.acquire(undefined, { signal }))
          return await runLong(run, signal)
        } finally {
          for (const release of releases) release()
        }
      },
      { signal },
    )

  return {
    write: (statements) =>
      writing.run(
        // Events whose storage a client awaits take turns with those of the consumers.
        currentWork()?.owner,
        async () => {
          try {
            return await write(statements)
          } catch (error) {
            throw REFUSED_VALUES.test(String(error))
              ? new EventStoreDataError('DuckDB refuses a value', { cause: error })
              : new EventStoreUnavailableError('DuckDB could not write', { cause: error })
          }
        },
        { patient: true },
      ),
    query: async <T>(
      projectId: string,
      text: string,
      bindings: Bindings,
      { signal, lane }: QueryOptions = {},
    ) => {
      signal?.throwIfAborted()
      const deadline = AbortSignal.timeout(queryTimeoutMs)
      const stop = signal ? AbortSignal.any([signal, deadline]) : deadline
      const run = (reader: number, until: AbortSignal): Promise<T[]> =>
        running.run((interrupted) =>
          file.use(({ readers }) =>
            runUntil<T>(
              readers[reader] as DuckDBConnection,
              text,
              bindings,
              AbortSignal.any([until, interrupted]),
            ),
          ),
        )
      try {
        for (let attempt = 1; ; attempt++) {
          const hadCompany = running.count() > 0
          const queryReport = attempt === 1 ? queryInTurn : queryAlone
          const queryIn = lane === 'lists' ? queryList : queryReport
          try {
            return await queryIn(ownerOfProject(projectId), run, stop)
          } catch (error) {
            // The memory may be that of another project's query.
            const isOthers =
              error instanceof InterruptedForMemoryError ||
              (isOutOfMemory(error) && (hadCompany || running.count() > 0))
            if (!isOthers || stop.aborted || attempt === ATTEMPTS) throw error
          }
        }
      } catch (error) {
        signal?.throwIfAborted()
        if (deadline.aborted) throw new QueryTimeoutError('The query took too long', { cause: error })
        if (isOutOfMemory(error) || error instanceof InterruptedForMemoryError)
          throw new QueryTimeoutError('The query needs too much memory', { cause: error })
        if (FATAL.test(String(error)))
          throw new EventStoreUnavailableError('DuckDB could not answer', { cause: error })
        throw error
      }
    },
    close: async () => {
      await Promise.all([short.close(), long.close(), alone.close(), lists.close(), writing.close()])
      file.close()
    },
  }
}

/** A query was interrupted because a write needed its memory. */
class InterruptedForMemoryError extends Error {}

/** The queries that run, which a write may interrupt. */
const createRunningQueries = () => {
  const running = new Map<AbortController, Promise<unknown>>()
  return {
    count: (): number => running.size,
    run: async <T>(query: (interrupted: AbortSignal) => Promise<T>): Promise<T> => {
      const interrupting = new AbortController()
      const result = query(interrupting.signal)
      running.set(interrupting, result)
      try {
        return await result
      } catch (error) {
        if (!interrupting.signal.aborted) throw error
        throw new InterruptedForMemoryError('A write needs the memory', { cause: error })
      } finally {
        running.delete(interrupting)
      }
    },
    /** Interrupts all and waits until they have ended. */
    interruptAll: async (): Promise<void> => {
      const ending = [...running]
      for (const [interrupting] of ending) interrupting.abort()
      await Promise.allSettled(ending.map(([, result]) => result))
    },
  }
}

type Connections = {
  writer: DuckDBConnection
  readers: readonly DuckDBConnection[]
  /** Lets statements use all the memory, or what queries may use. @throws Error when more than that is in use */
  setMemory(part: 'all' | 'queries'): Promise<void>
  close(): void
}

/** Messages of DuckDB about a file that is not as it was written. */
const DAMAGED = /not a valid DuckDB database file|Could not read enough bytes|corrupt|checksum/i

/** @throws Error when the file is damaged, with what to do */
const connect = async (options: DuckDBOptions): Promise<Connections> => {
  try {
    return await connectTo(options)
  } catch (error) {
    if (!DAMAGED.test(String(error))) throw error
    throw new Error(
      `The analytics file ${options.path} is damaged or incomplete. Put the file and its .wal from a backup in its place, ` +
        'as docs/backup.md says',
      { cause: error },
    )
  }
}

const connectTo = async ({ path, memoryBytes, threads }: DuckDBOptions): Promise<Connections> => {
  const memory = { all: kibibytes(memoryBytes), queries: kibibytes(memoryBytes * (1 - WRITE_PART)) }
  const instance = await DuckDBInstance.create(path, {
    memory_limit: memory.queries,
    threads: `${threads}`,
    // Names in queries must not access the file system or the network.
    enable_external_access: 'false',
  })
  const connections: DuckDBConnection[] = []
  const close = (): void => {
    for (const connection of connections) connection.closeSync()
    instance.closeSync()
  }
  try {
    const writer = await instance.connect()
    connections.push(writer)
    await migrate(writer)
    await refuseShortened(writer, path)
    const readers = await Promise.all(Array.from({ length: LIST_READER + 1 }, () => instance.connect()))
    connections.push(...readers)
    const setMemory = async (part: 'all' | 'queries'): Promise<void> => {
      await writer.run(`SET memory_limit = '${memory[part]}'`)
    }
    return { writer, readers, setMemory, close }
  } catch (error) {
    close()
    throw error
  }
}

const kibibytes = (bytes: number): string => `${Math.round(bytes / 1024)}KiB`

/**
 * Reopens the file after a fatal error, such as a checkpoint on a full disk, because DuckDB then refuses every
 * statement. Committed data is in the file.
 */
const openReopening = async (options: DuckDBOptions) => {
  let connections: Connections | undefined = await connect(options)
  let isBroken = false
  let inUse = 0
  let reopening: Promise<Connections> | undefined

  // Two instances of one file in a process would overwrite each other, so the last user closes the old one.
  const closeBroken = (): void => {
    if (!isBroken || inUse > 0) return
    connections?.close()
    connections = undefined
    isBroken = false
  }
  const reopen = async (): Promise<Connections> => {
    try {
      connections = await connect(options)
      return connections
    } finally {
      reopening = undefined
    }
  }
  const acquire = async (): Promise<Connections> => {
    if (isBroken) throw new Error('FATAL Error: the file is being reopened')
    if (connections) return connections
    reopening ??= reopen()
    return reopening
  }

  return {
    use: async <T>(work: (connections: Connections) => Promise<T>): Promise<T> => {
      const acquired = await acquire()
      inUse++
      try {
        return await work(acquired)
      } catch (error) {
        isBroken ||= FATAL.test(String(error))
        throw error
      } finally {
        inUse--
        closeBroken()
      }
    },
    close: (): void => connections?.close(),
  }
}

const isBindings = (values: Statement[1]): values is Bindings => !Array.isArray(values)

const runInTransaction = async (
  connection: DuckDBConnection,
  statements: readonly Statement[],
): Promise<number> => {
  await connection.run('BEGIN TRANSACTION')
  try {
    let rows = 0
    for (const [text, values] of statements) {
      const result = isBindings(values)
        ? await connection.run(text, values, typesOf(values))
        : await connection.run(text, values)
      rows += result.rowsChanged
    }
    await connection.run('COMMIT')
    return rows
  } catch (error) {
    await connection.run('ROLLBACK').catch(() => {})
    throw error
  }
}

const runUntil = async <T>(
  connection: DuckDBConnection,
  text: string,
  bindings: Bindings,
  signal: AbortSignal,
): Promise<T[]> => {
  // Repeated, because an interrupt before the start of the query is lost.
  const interrupting = setInterval(() => {
    if (signal.aborted) connection.interrupt()
  }, INTERRUPT_INTERVAL_MS)
  try {
    const result = await connection.run(text, bindings, typesOf(bindings))
    // In parts, because a large answer would delay other requests.
    const rows: T[] = []
    for await (const part of result.yieldRowObjectJs()) rows.push(...(part as T[]))
    return rows
  } finally {
    clearInterval(interrupting)
  }
}
