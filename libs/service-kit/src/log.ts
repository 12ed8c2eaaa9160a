import { pino } from 'pino'
import { Type } from 'typebox'
import { variable } from './config.ts'

/** The configuration of logs, which every process reads first. */
export const logConfig = {
  level: variable(
    'LOG_LEVEL',
    Type.Union(
      ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'].map((level) => Type.Literal(level)),
      { default: 'info', description: 'Minimum level of logged messages.' },
    ),
  ),
} as const

/** A logger that writes JSON lines to standard output, with the name of the service and the fields of `fieldsOf`. */
export const createLog = (name: string, level: string, fieldsOf?: () => object) =>
  pino({
    ...(fieldsOf && { mixin: fieldsOf }),
    serializers: { err: describeError },
    name,
    level,
    base: { name },
    timestamp: pino.stdTimeFunctions.isoTime,
  })

/** Only these fields are logged, because libraries attach connections with their secrets to errors. */
const describeError = (error: unknown): object => {
  if (!(error instanceof Error)) return { message: String(error) }
  const { name, message, stack, cause, code } = error as Error & { code?: unknown }
  return { name, message, code, stack, ...(cause !== undefined && { cause: describeError(cause) }) }
}
