import type { Tracer } from '@opentelemetry/api'
import type { Log } from '@waymark/contracts/log'
import { failCurrentWork } from '@waymark/domain/fairness'
import { type Config, ConfigError, readConfig } from './config.ts'
import { createLog, logConfig } from './log.ts'
import { createScope, type Scope } from './scope.ts'
import { traceLogFields } from './tracing/trace-requests.ts'
import { tracingConfig } from './tracing/tracing-config.ts'

/** What a composition root builds its service with. */
type ServiceContext = {
  name: string
  log: Log
  scope: Scope
  /** Undefined without tracing. */
  tracer: Tracer | undefined
  env: NodeJS.ProcessEnv
  /** Aborts when the process must stop while it is still starting. */
  signal: AbortSignal
  /** Stops the process with exit code 1 after an error of a part that it needs. */
  fail: (error: unknown) => void
}

const STOP_DEADLINE_MS = 30_000

/**
 * Runs a process. `start` builds its parts and registers on the scope how to close them. SIGTERM, SIGINT or an uncaught
 * error disposes of the scope within 30 s. An unhandled rejection does so only while the process starts; later it is
 * logged, and answers its request with 500. The exit code is 0 after a signal, and 1 after an error or when a signal
 * interrupts the start.
 */
export const runService = async (
  name: string,
  env: NodeJS.ProcessEnv,
  start: (context: ServiceContext) => Promise<void>,
): Promise<void> => {
  const config = readOwnConfig(env)
  if (config === undefined) return
  const traced = config.tracing.endpoint !== ''
  const log = createLog(name, config.log.level, traced ? traceLogFields : undefined)
  const scope = createScope(log)
  const aborting = new AbortController()
  let starting: Promise<void> | undefined
  let stopping: Promise<void> | undefined
  let isStarted = false

  const stop = (): void => {
    if (stopping !== undefined) return
    const deadline = setTimeout(() => {
      log.error({}, 'Process did not stop in time')
      // Otherwise a handle that keeps the event loop alive would delay the end until SIGKILL.
      process.exit(1)
    }, STOP_DEADLINE_MS)
    deadline.unref()
    aborting.abort()
    // After the start, because it may still register disposals.
    stopping = Promise.allSettled([starting]).then(() => scope.dispose())
  }
  const fail = (error: unknown): void => {
    process.exitCode = 1
    const message = operatorMessage(error)
    if (message !== undefined) process.stderr.write(`${message}\n`)
    else log.error({ err: error }, 'Process failed')
    stop()
  }

  // Not `once`: npm forwards a signal that the process has received too, and a second one would kill it.
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  // A process that ends by itself removes these handlers before it is gone, and a late signal would kill it.
  process.once('beforeExit', () => process.exit())
  process.on('uncaughtException', fail)
  // Other requests and records are not affected by it, so the process goes on once it has started.
  process.on('unhandledRejection', (error) => {
    if (!isStarted) return fail(error)
    log.error({ err: error }, 'Unhandled rejection')
    failCurrentWork(error)
  })

  const traceAndStart = async (): Promise<void> => {
    let tracer: Tracer | undefined
    if (traced) {
      // Loads the SDK only when needed. Registered first, so that it stops last and sends the spans of the others.
      const { startTracing } = await import('./tracing/start-tracing.ts')
      const tracing = startTracing(name, config.tracing, log)
      scope.onStop('tracing', () => tracing.stop())
      tracer = tracing.tracer
    }
    await start({ name, log, scope, tracer, env, signal: aborting.signal, fail })
  }

  try {
    starting = traceAndStart()
    await starting
    // Frees about 40 MB of garbage from the start. Available when Node.js runs with `--expose-gc`.
    globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
    isStarted = true
    log.info({}, 'Started')
  } catch (error) {
    if (!aborting.signal.aborted) return fail(error)
    // So that an interrupted job does not count as completed.
    process.exitCode = 1
    log.info({ err: error }, 'Start was aborted')
  }
}

const ownConfig = { log: logConfig, tracing: tracingConfig }

/** Returns undefined, after printing the error, when the environment is not valid. */
const readOwnConfig = (env: NodeJS.ProcessEnv): Config<typeof ownConfig> | undefined => {
  try {
    return readConfig(ownConfig, env)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
    process.exitCode = 1
    return undefined
  }
}

/** A message without a stack trace, for errors that the operator can fix. */
const operatorMessage = (error: unknown): string | undefined => {
  if (error instanceof ConfigError) return error.message
  const { code, syscall, port } = Object(error) as { code?: unknown; syscall?: unknown; port?: unknown }
  if (error instanceof Error && code === 'DATA_DIR_IN_USE') return error.message
  if (code === 'EADDRINUSE') return `Port ${port} is taken. Set PORT to another one.`
  if (code === 'EACCES' && syscall === 'listen')
    return `This user may not open port ${port}. Set PORT to another one.`
  return undefined
}
