import { pino } from 'pino'

/** A logger that writes JSON lines to standard output, each with the service's name. */
export const createLog = (name: string, level: string) =>
  pino({ name, level, base: { name }, timestamp: pino.stdTimeFunctions.isoTime })
