import type { Tracer } from '@opentelemetry/api'
import type { Log } from '@waymark/contracts'
import { type Config, ConfigError, readConfig } from './config.ts'
import { createLog, logConfig } from './log.ts'
import { createScope, type Scope } from './scope.ts'
import { traceLogFields } from './tracing/log-fields.ts'
import { tracingConfig } from './tracing/tracing-config.ts'

/** What a composition root is given to build its service with. */
export type ServiceContext = {
  name: string
  log: Log
  scope: Scope
  /** Makes spans; undefined when nothing is traced. */
  tracer: Tracer | undefined
  env: NodeJS.ProcessEnv
  /** Aborted when the process is told to end, for a start that waits. */
  signal: AbortSignal
  /** Ends the process with exit code 1, for a part that it cannot go on without. */
  fail: (error: unknown) => void
}

const STOP_DEADLINE_MS = 30_000

/**
 * Runs a process: `start` builds everything and registers on the scope what must be undone. SIGTERM, SIGINT
 * or an error that nobody caught end it: the scope is disposed of in reverse order, within 30 s.
 * The exit code is 0 after a signal, and 1 after an error or a signal that ended the start.
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
  const ending = new AbortController()
  let starting: Promise<void> | undefined
  let stopping: Promise<void> | undefined

  const stop = (): void => {
    if (stopping !== undefined) return
    const deadline = setTimeout(() => {
      log.error({}, 'Process did not stop in time')
      // The last resort: something holds on to the event loop, and waiting longer would end in a SIGKILL.
      process.exit(1)
    }, STOP_DEADLINE_MS)
    deadline.unref()
    ending.abort()
    // Not before the start is over: what it has yet to register would be left behind.
    stopping = Promise.allSettled([starting]).then(() => scope.dispose())
  }
  const fail = (error: unknown): void => {
    process.exitCode = 1
    const advice = adviceFor(error)
    if (advice !== undefined) process.stderr.write(`${advice}\n`)
    else log.error({ err: error }, 'Process failed')
    stop()
  }

  // Not `once`: npm repeats the signal that it gets itself, and a second one would end us in the middle.
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  process.on('uncaughtException', fail)
  process.on('unhandledRejection', fail)

  const traceAndStart = async (): Promise<void> => {
    let tracer: Tracer | undefined
    if (traced) {
      // The SDK is loaded only where it is used. It is the last to stop, for the others have spans to send.
      const { startTracing } = await import('./tracing/start-tracing.ts')
      const tracing = startTracing(name, config.tracing, log)
      scope.onStop('tracing', () => tracing.stop())
      tracer = tracing.tracer
    }
    await start({ name, log, scope, tracer, env, signal: ending.signal, fail })
  }

  try {
    starting = traceAndStart()
    await starting
    // Otherwise an idle process keeps the garbage of its start, about 40 MB. Exists when Node.js runs with `--expose-gc`.
    globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
    log.info({}, 'Started')
  } catch (error) {
    if (!ending.signal.aborted) return fail(error)
    // A job whose work is not done must not count as done.
    process.exitCode = 1
    log.info({ err: error }, 'Start was aborted')
  }
}

const ownConfig = { log: logConfig, tracing: tracingConfig }

/** Undefined when the environment is at fault; then the process has said so and is to end. */
const readOwnConfig = (env: NodeJS.ProcessEnv): Config<typeof ownConfig> | undefined => {
  try {
    return readConfig(ownConfig, env)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
    process.exitCode = 1
    return undefined
  }
}

/** What whoever starts the process can do about an error, if that is for them to mend and no bug. */
const adviceFor = (error: unknown): string | undefined => {
  if (error instanceof ConfigError) return error.message
  const { code, syscall, port } = Object(error) as { code?: unknown; syscall?: unknown; port?: unknown }
  if (code === 'EADDRINUSE') return `Port ${port} is taken. Set PORT to another one.`
  if (code === 'EACCES' && syscall === 'listen')
    return `Port ${port} may not be opened by this user. Set PORT to another one.`
  return undefined
}
