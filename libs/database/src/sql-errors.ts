const SOCKET_CODES = new Set([
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
])

// pg gives these no code.
const CONNECTION_MESSAGES =
  /^(Connection terminated|Client (has encountered a connection error|was closed)|timeout exceeded when trying to connect$|timeout expired$|Query read timeout$)/

// 08 connection; 57P01–57P05 the server shuts down, crashed, starts or dropped an idle session; 25P03 likewise.
const CONNECTION_STATES = /^(08|57P0|25P03)/

// 40 serialization and deadlock, 53 resources, 57 cancelled or shutting down, 58 system, 55P03 lock timeout,
// 25006 a server that just became a replica.
const TRANSIENT_STATES = /^(08|40|53|57|58|55P03|25006|25P03)/

// 22 data, 23 constraints, 54 a value over one of PostgreSQL's limits.
const DATA_STATES = /^(22|23|54)/

const PRISMA_CONNECTION_KINDS = new Set([
  'ConnectionClosed',
  'DatabaseNotReachable',
  'SocketTimeout',
  'TooManyConnections',
])

// Prisma's own time-outs and lost connections.
const PRISMA_TRANSIENT_CODES = new Set([
  'P1001',
  'P1002',
  'P1008',
  'P1017',
  'P2024',
  'P2028',
  'P2034',
  'P2037',
])

/** What an error of pg or Prisma means for whoever retries; see `isTransient` and `isDataError`. */
export const classifyStoreError = (error: unknown): 'transient' | 'data' | 'unknown' =>
  isDataError(error) ? 'data' : isTransient(error) ? 'transient' : 'unknown'

/** True when the connection to PostgreSQL broke, timed out or could not be made: it can't be used any more. */
export const isConnectionError = (error: unknown): boolean =>
  chainOf(error).some(
    (link) =>
      SOCKET_CODES.has(link.code) ||
      CONNECTION_STATES.test(link.code) ||
      PRISMA_CONNECTION_KINDS.has(link.kind) ||
      CONNECTION_MESSAGES.test(link.message),
  )

/**
 * True for an error that says nothing about the data and may be gone at the next try: PostgreSQL away, restarting,
 * out of resources or too slow, a deadlock, a lock timeout. Knows the errors of pg and of Prisma.
 */
export const isTransient = (error: unknown): boolean =>
  isConnectionError(error) ||
  chainOf(error).some(
    (link) =>
      TRANSIENT_STATES.test(link.code) || PRISMA_TRANSIENT_CODES.has(link.code) || isMissingPartition(link),
  )

/**
 * True when PostgreSQL refused a value or a row, so that trying again can't help. A partition that has yet to be
 * made is not the row's fault, although PostgreSQL reports it as a violated check: it counts as transient.
 */
export const isDataError = (error: unknown): boolean =>
  chainOf(error).some((link) => DATA_STATES.test(link.code) && !isMissingPartition(link))

type Link = { code: string; kind: string; message: string; routine: string }

const isMissingPartition = ({ code, routine }: Link): boolean =>
  code === '23514' && routine === 'ExecFindPartition'

/** An error and what it wraps: causes, the parts of an AggregateError, what Prisma got from its driver. */
const chainOf = (error: unknown, depth = 0): Link[] => {
  if (typeof error !== 'object' || error === null || depth > 5) return []
  const { cause, errors, meta } = error as { cause?: unknown; errors?: unknown; meta?: unknown }
  const wrapped = [cause, ...(Array.isArray(errors) ? errors : []), read(meta, 'driverAdapterError')]
  return [
    {
      code: text(error, 'originalCode') || text(error, 'code'),
      kind: text(error, 'kind'),
      message: text(error, 'message'),
      routine: text(error, 'routine'),
    },
    ...wrapped.flatMap((inner) => chainOf(inner, depth + 1)),
  ]
}

const read = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined

const text = (value: unknown, key: string): string => {
  const found = read(value, key)
  return typeof found === 'string' ? found : ''
}
