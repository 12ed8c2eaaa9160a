import { MessageChannel, type MessagePort } from 'node:worker_threads'
import pLimit, { type LimitFunction } from 'p-limit'
import type { Piscina } from 'piscina'

/** A task, and the port to which the worker sends a message when it starts the task. */
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
 * Runs templates and schemas of projects in worker threads, because their time cannot be bounded on the main thread. A
 * worker that exceeds the deadline or its memory is terminated.
 */
type ProjectWorkers<Task, Result> = {
  /**
   * Runs a task. Waits while another task of the project runs.
   * @throws WorkerLimitError when it takes too long or needs too much memory
   */
  run(projectId: string, task: Task): Promise<Result>
  /** Whether so many tasks of the project wait that further ones should be refused. */
  isBusy(projectId: string): boolean
  close(): Promise<void>
}

type ProjectWorkersOptions = {
  /** File whose default export runs a task. */
  filename: string
  /** Time for one task in a worker, in ms. */
  deadlineMs: number
  /** Worker threads. More than `THREADS_PER_PROJECT`, so that a project cannot occupy all. */
  threads?: number
  /** Waiting tasks of a project from which `isBusy` returns true. */
  maxWaiting?: number
  /** Called with an error of a worker that has no task, so that no caller gets it. */
  onError?: ((error: Error) => void) | undefined
}

const THREADS = 2
const THREADS_PER_PROJECT = 1
const MAX_WAITING_PER_PROJECT = 20
const WORKER_HEAP_MB = 128
/** Threads end after this time without work, in ms. Long, because one may take seconds to start on a busy machine. */
const IDLE_MS = 10 * 60_000

/** Creates workers. Their threads start with the first task. */
export const createProjectWorkers = <Task, Result>({
  filename,
  deadlineMs,
  threads = THREADS,
  maxWaiting = MAX_WAITING_PER_PROJECT,
  onError = () => {},
}: ProjectWorkersOptions): ProjectWorkers<Task, Result> => {
  let pool: Promise<Piscina<StartedTask<Task>, Result>> | undefined
  const projects = new Map<string, LimitFunction>()

  const startPool = async () => {
    // Imported on first use, because most processes never need a worker.
    const { Piscina } = await import('piscina')
    const started = new Piscina<StartedTask<Task>, Result>({
      filename,
      minThreads: 0,
      maxThreads: threads,
      idleTimeout: IDLE_MS,
      resourceLimits: { maxOldGenerationSizeMb: WORKER_HEAP_MB },
    })
    started.on('error', (error: Error) => {
      // Unheard, it would end the process. The first is the answer of a worker that has just been ended.
      if (!error.message.startsWith('Unexpected message from Worker')) onError(error)
    })
    return started
  }

  const runTask = async (task: Task): Promise<Result> => {
    pool ??= startPool()
    const threadPool = await pool
    const { port1, port2 } = new MessageChannel()
    // The deadline covers the work, but not the wait for a thread.
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
