import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { createFairQueue, ownerOfProject, requireOngoingWork } from '@waymark/domain/fairness'
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
   * Runs a task in its turn: while a task of the tenant runs, others of it wait. Patient ones wait as long as it takes.
   * @throws WorkerLimitError when it takes too long or needs too much memory; AppError rate_limited or overloaded when
   * too many tasks wait
   */
  run(projectId: string, task: Task, options?: { patient: boolean }): Promise<Result>
  close(): Promise<void>
}

type ProjectWorkersOptions = {
  /** File whose default export runs a task. */
  filename: string
  /** Time for one task in a worker, in ms. */
  deadlineMs: number
  /** What the tasks do, for error messages, such as `templates to render`. */
  what: string
  /** Worker threads. More than `THREADS_PER_TENANT`, so that a tenant cannot occupy all. */
  threads?: number
  /** Waiting tasks of a tenant, beyond which they are refused. */
  maxWaiting?: number
  /** Called with an error of a worker that has no task, so that no caller gets it. */
  onError?: ((error: Error) => void) | undefined
}

const THREADS = 2
const THREADS_PER_TENANT = 1
const MAX_WAITING_PER_TENANT = 20
const MAX_WAITING = 200
/** How long a task of a request waits, in ms: longer than most deadlines of requests. */
const MAX_WAIT_MS = 30_000
const RETRY_AFTER_S = 1
const WORKER_HEAP_MB = 128
/** Threads end after this time without work, in ms. Long, because one may take seconds to start on a busy machine. */
const IDLE_MS = 10 * 60_000

/** Creates workers. Their threads start with the first task. */
export const createProjectWorkers = <Task, Result>({
  filename,
  deadlineMs,
  what,
  threads = THREADS,
  maxWaiting = MAX_WAITING_PER_TENANT,
  onError = () => {},
}: ProjectWorkersOptions): ProjectWorkers<Task, Result> => {
  let pool: Promise<Piscina<StartedTask<Task>, Result>> | undefined
  const queue = createFairQueue({
    what,
    capacity: threads,
    perTenant: THREADS_PER_TENANT,
    maxWaiting: MAX_WAITING,
    maxWaitingPerTenant: maxWaiting,
    maxWaitMs: MAX_WAIT_MS,
    retryAfterSeconds: RETRY_AFTER_S,
  })

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
    run: (projectId, task, options = { patient: false }) =>
      queue.run(
        ownerOfProject(projectId),
        () => {
          requireOngoingWork()
          return runTask(task)
        },
        options,
      ),
    close: async () => {
      await (await pool)?.destroy()
    },
  }
}

const isOutOfMemory = (error: unknown): boolean =>
  (error as { code?: unknown }).code === 'ERR_WORKER_OUT_OF_MEMORY'
