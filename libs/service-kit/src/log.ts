import { pino } from 'pino'

/** A logger that writes JSON lines to standard output, each with the service's name. */
export const createLog = (name: string, level: string) =>
  pino({
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
