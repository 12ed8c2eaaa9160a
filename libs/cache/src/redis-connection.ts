import type { Log } from '@waymark/contracts/log'
import { Cluster, type CommonRedisOptions, Redis } from 'ioredis'

/** How to reach Redis. `commandTimeoutMs` bounds the time of each command (200). */
export type RedisOptions = {
  /** `redis://user:password@host:6379/0`, or `rediss://` for TLS to every node. */
  url: string
  keyPrefix?: string
  commandTimeoutMs?: number
  /** Credentials that override those in the URL, unless empty. */
  username?: string
  password?: string
  /** Certificates in PEM, for `rediss://`. */
  tls?: { ca?: string; cert?: string; key?: string }
  /** Whether the URL names a node of a Redis Cluster. */
  cluster?: boolean
  /** Sentinels, each as `host:port`, that provide the address of the master instead of the URL. */
  sentinel?: { nodes: readonly string[]; master: string; password?: string }
  /** Called for each failed command and connection. */
  onFailure?: () => void
}

const LOG_INTERVAL_MS = 10_000
const DEFAULT_PORT = 6379

/**
 * Connects to Redis, and reconnects in the background. Commands fail at once while it is unreachable, and after
 * `commandTimeoutMs` while it hangs. `logFailure` reports such a failure, and logs it at most every 10 s.
 */
export const connectRedis = (
  options: RedisOptions,
  log: Log,
): { redis: Redis | Cluster; logFailure: (error: unknown) => void } => {
  const redis = createClient(options)
  let lastLoggedAt = 0
  const logFailure = (error: unknown): void => {
    options.onFailure?.()
    if (Date.now() - lastLoggedAt < LOG_INTERVAL_MS) return
    lastLoggedAt = Date.now()
    log.warn({ err: error }, 'Redis is unavailable; continuing without it')
  }
  redis.on('error', logFailure)
  return { redis, logFailure }
}

const createClient = ({ sentinel, cluster, ...options }: RedisOptions): Redis | Cluster => {
  const url = new URL(options.url)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = url.port === '' ? DEFAULT_PORT : Number(url.port)
  const connection = connectionOptions(url, options)
  const db = Number(url.pathname.slice(1) || 0)
  // Without an offline queue, commands fail at once while disconnected.
  const reconnect = { enableOfflineQueue: false, retryStrategy: reconnectDelayMs }
  if (sentinel) {
    return new Redis({
      db,
      ...connection,
      ...reconnect,
      sentinels: sentinel.nodes.map(hostAndPort),
      name: sentinel.master,
      ...(sentinel.password && { sentinelPassword: sentinel.password }),
      ...(connection.tls && { enableTLSForSentinelMode: true, sentinelTLS: connection.tls }),
      sentinelRetryStrategy: reconnectDelayMs,
    })
  }
  if (cluster) {
    const { keyPrefix, ...nodeConnection } = connection
    return new Cluster([{ host, port }], {
      ...(keyPrefix !== undefined && { keyPrefix }),
      enableOfflineQueue: false,
      clusterRetryStrategy: reconnectDelayMs,
      redisOptions: nodeConnection,
      // Connect by host name, because a certificate does not name the IP address.
      dnsLookup: (address, answer) => answer(null, address),
    })
  }
  return new Redis({ host, port, db, ...connection, ...reconnect })
}

const reconnectDelayMs = (attempt: number): number => Math.min(2_000, 50 * 2 ** attempt)

const connectionOptions = (
  url: URL,
  { keyPrefix = 'waymark:', commandTimeoutMs = 200, username, password, tls = {} }: RedisOptions,
) => {
  const user = username || decodeURIComponent(url.username)
  const secret = password || decodeURIComponent(url.password)
  return {
    keyPrefix,
    commandTimeout: commandTimeoutMs,
    connectTimeout: 3_000,
    // Otherwise ioredis keeps the pending commands of a hanging connection forever.
    socketTimeout: 5_000,
    maxRetriesPerRequest: 0,
    // Sends the commands of one event loop turn in one write.
    enableAutoPipelining: true,
    ...(user !== '' && { username: user }),
    ...(secret !== '' && { password: secret }),
    ...(url.protocol === 'rediss:' && { tls }),
  } satisfies CommonRedisOptions
}

const hostAndPort = (address: string): { host: string; port: number } => {
  const { hostname, port } = new URL(`redis://${address}`)
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) }
}
