import { MessageChannel, type MessagePort } from 'node:worker_threads'
import pLimit, { type LimitFunction } from 'p-limit'
import type { Piscina } from 'piscina'

/** What a worker is given: a task, and the port that is told when its work starts. */
export type StartedTask<Task> = { task: Task; started: MessagePort }

/** A task that was ended because it took too long or needed too much memory. */
export class WorkerLimitError extends Error {
  readonly limit: 'time' | 'memory'

  constructor(limit: 'time' | 'memory') {
    super(`The task exceeds its limit of ${limit}`)
    this.name = 'WorkerLimitError'
    this.limit = limit
  }
}

/**
 * Runs what projects write in worker threads, because its time cannot be bounded on the thread that answers requests. A
 * worker that exceeds the deadline or its memory is ended.
 */
export type ProjectWorkers<Task, Result> = {
  /**
   * Runs a task. Waits while the project runs as many as it may.
   * @throws WorkerLimitError when it takes too long or needs too much memory
   */
  run(projectId: string, task: Task): Promise<Result>
  /** Whether so many tasks of the project wait that another one should be refused. */
  isBusy(projectId: string): boolean
  close(): Promise<void>
}

export type ProjectWorkersOptions = {
  /** File whose default export runs a task, in a thread of its own. */
  filename: string
  /** Time that one task may take in a worker, in ms. */
  deadlineMs: number
  /** Worker threads. More than a project may occupy, so that no project can occupy all. */
  threads?: number
  /** Tasks of a project that wait for its thread before `isBusy` says so. */
  maxWaiting?: number
}

const THREADS = 2
const THREADS_PER_PROJECT = 1
const MAX_WAITING_PER_PROJECT = 20
const WORKER_HEAP_MB = 128
/** Threads end after this time without work, in ms. On a busy machine it takes seconds to start one. */
const IDLE_MS = 10 * 60_000

/** Creates workers. Their threads start with the first task. */
export const createProjectWorkers = <Task, Result>({
  filename,
  deadlineMs,
  threads = THREADS,
  maxWaiting = MAX_WAITING_PER_PROJECT,
}: ProjectWorkersOptions): ProjectWorkers<Task, Result> => {
  let pool: Promise<Piscina<StartedTask<Task>, Result>> | undefined
  const projects = new Map<string, LimitFunction>()

  const startPool = async () => {
    // Most processes never need a worker.
    const { Piscina } = await import('piscina')
    return new Piscina<StartedTask<Task>, Result>({
      filename,
      minThreads: 0,
      maxThreads: threads,
      idleTimeout: IDLE_MS,
      resourceLimits: { maxOldGenerationSizeMb: WORKER_HEAP_MB },
    })
  }

  const runTask = async (task: Task): Promise<Result> => {
    pool ??= startPool()
    const threadPool = await pool
    const { port1, port2 } = new MessageChannel()
    // Only the work counts, not the wait for a thread that starts or is busy.
    const deadline = new AbortController()
    let timer: NodeJS.Timeout | undefined
    port1.once('message', () => {
      timer = setTimeout(() => deadline.abort(), deadlineMs)
    })
    try {
      return await threadPool.run(
        { task, started: port2 },
        { signal: deadline.signal, transferList: [port2] },
      )
    } catch (error) {
      if (deadline.signal.aborted) throw new WorkerLimitError('time')
      if (isOutOfMemory(error)) throw new WorkerLimitError('memory')
      throw error
    } finally {
      clearTimeout(timer)
      port1.close()
    }
  }

  return {
    run: async (projectId, task) => {
      const limit = projects.get(projectId) ?? pLimit(THREADS_PER_PROJECT)
      projects.set(projectId, limit)
      try {
        return await limit(() => runTask(task))
      } finally {
        if (limit.activeCount + limit.pendingCount === 0) projects.delete(projectId)
      }
    },
    isBusy: (projectId) => (projects.get(projectId)?.pendingCount ?? 0) >= maxWaiting,
    close: async () => {
      await (await pool)?.destroy()
    },
  }
}

const isOutOfMemory = (error: unknown): boolean =>
  (error as { code?: unknown }).code === 'ERR_WORKER_OUT_OF_MEMORY'
