import { AppError, type ErrorCode } from '@waymark/contracts/app-error'

const SOCKET_CODES = new Set([
  'EADDRNOTAVAIL',
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'EMFILE',
  'ENETDOWN',
  'ENETRESET',
  'ENETUNREACH',
  'ENFILE',
  'ENOBUFS',
  'ENOTFOUND',
  'EPIPE',
  'EPROTO',
  'ERR_SOCKET_CLOSED',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_STREAM_WRITE_AFTER_END',
  'ETIMEDOUT',
])

// TLS that could not be negotiated, or broke. Certificates that are not trusted have other codes.
const TLS_CODES = /^ERR_(?:SSL|TLS)_/

// These errors of pg have no code.
const CONNECTION_MESSAGES =
  /^(Connection terminated|Client (has encountered a connection error|was closed)|timeout exceeded when trying to connect$|timeout expired$|Query read timeout$|Cannot use a pool after calling end on the pool$|There was an error establishing an SSL connection$|Received unexpected \w+ message from backend)/

// 08 connection; 57P01–57P05 the server shuts down, crashed, starts or dropped an idle session; 25P03 likewise.
const CONNECTION_STATES = /^(08|57P0|25P03)/

// 40 serialization and deadlock, 53 resources, 57 cancelled or shutting down, 58 system, 55P03 lock timeout,
// 25006 a server that just became a replica.
const TRANSIENT_STATES = /^(08|40|53|57|58|55P03|25006|25P03)/

// No free connection in time: errors of the pool's queue.
const QUEUE_CODES = new Set(['overloaded', 'rate_limited'])
const QUEUE_RETRY_S = 2

// 22 data, 23 constraints, 54 a value over one of PostgreSQL's limits.
const DATA_STATES = /^(22|23|54)/

const PRISMA_CONNECTION_KINDS = new Set([
  'ConnectionClosed',
  'DatabaseNotReachable',
  'SocketTimeout',
  'TlsConnectionError',
  'TooManyConnections',
])

// Timeouts and lost connections of Prisma.
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

/** The error of the pool's queue that Prisma wrapped; undefined when `error` is another one. */
export const queueErrorIn = (error: unknown): AppError | undefined => {
  const found = chainOf(error).find(({ code }) => QUEUE_CODES.has(code))
  return (
    found &&
    new AppError(found.code as ErrorCode, found.message.trim().split('\n').at(-1) ?? '', {
      retryAfterSeconds: QUEUE_RETRY_S,
    })
  )
}

/** Classifies an error of pg or Prisma; see `isTransient` and `isDataError`. */
export const classifyStoreError = (error: unknown): 'transient' | 'data' | 'unknown' =>
  isDataError(error) ? 'data' : isTransient(error) ? 'transient' : 'unknown'

/** Whether the connection to PostgreSQL broke, timed out or could not be established, so that it is unusable. */
export const isConnectionError = (error: unknown): boolean =>
  chainOf(error).some(
    (link) =>
      SOCKET_CODES.has(link.code) ||
      TLS_CODES.test(link.code) ||
      CONNECTION_STATES.test(link.code) ||
      PRISMA_CONNECTION_KINDS.has(link.kind) ||
      CONNECTION_MESSAGES.test(link.message),
  )

/**
 * Whether an error of pg or Prisma is temporary, so that a retry may succeed: PostgreSQL is unavailable, restarting, out
 * of resources or too slow, or there was a deadlock or a lock timeout.
 */
export const isTransient = (error: unknown): boolean =>
  isConnectionError(error) ||
  chainOf(error).some(
    (link) =>
      TRANSIENT_STATES.test(link.code) ||
      QUEUE_CODES.has(link.code) ||
      PRISMA_TRANSIENT_CODES.has(link.code) ||
      isMissingPartition(link),
  )

/**
 * Whether PostgreSQL refused a value or a row, so that a retry cannot succeed. A missing partition counts as transient,
 * although PostgreSQL reports it as a check violation.
 */
export const isDataError = (error: unknown): boolean =>
  chainOf(error).some((link) => DATA_STATES.test(link.code) && !isMissingPartition(link))

type Link = { code: string; kind: string; message: string; routine: string }

const isMissingPartition = ({ code, routine }: Link): boolean =>
  code === '23514' && routine === 'ExecFindPartition'

/** An error with its causes, the parts of an AggregateError, and the driver errors of Prisma. */
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
