import { pino } from 'pino'
import { Type } from 'typebox'
import { variable } from './config.ts'

/** The variable that every process reads before all others. */
export const logConfig = {
  level: variable(
    'LOG_LEVEL',
    Type.Union(
      ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'].map((level) => Type.Literal(level)),
      { default: 'info', description: 'Minimum level of logged messages.' },
    ),
  ),
} as const

/**
 * A logger that writes JSON lines to standard output, each with the service's name and with what `fieldsOf` says when it
 * is written.
 */
export const createLog = (name: string, level: string, fieldsOf?: () => object) =>
  pino({
    ...(fieldsOf && { mixin: fieldsOf }),
    serializers: { err: describeError },
    name,
    level,
    base: { name },
    timestamp: pino.stdTimeFunctions.isoTime,
  })

/** The fields of an error that belong into a log: libraries hang whole connections, with their secrets, on errors. */
const describeError = (error: unknown): object => {
  if (!(error instanceof Error)) return { message: String(error) }
  const { name, message, stack, cause, code } = error as Error & { code?: unknown }
  return { name, message, code, stack, ...(cause !== undefined && { cause: describeError(cause) }) }
}
