import type { Log } from '@waymark/contracts'
import { Cluster, type CommonRedisOptions, Redis } from 'ioredis'

/** How to reach Redis. `commandTimeoutMs` bounds each command, so that a hanging server costs little. */
export type RedisOptions = {
  /** `redis://user:password@host:6379/0`; `rediss://` reaches every node by TLS. */
  url: string
  keyPrefix?: string
  commandTimeoutMs?: number
  /** In place of the URL's, unless empty. */
  username?: string
  password?: string
  /** Certificates in PEM, for `rediss://`. */
  tls?: { ca?: string; cert?: string; key?: string }
  /** Whether the URL names a node of a Redis Cluster. */
  cluster?: boolean
  /** Who tells the master's address, as `host:port`, in place of the URL. */
  sentinel?: { nodes: readonly string[]; master: string; password?: string }
}

const LOG_INTERVAL_MS = 10_000
const DEFAULT_PORT = 6379

/**
 * Connects to Redis, and reconnects in the background. Commands fail at once while it is down
 * and after `commandTimeoutMs` (200) while it hangs; `complain` logs such a failure, at most every 10 s.
 */
export const connectRedis = (
  options: RedisOptions,
  log: Log,
): { redis: Redis | Cluster; complain: (error: unknown) => void } => {
  const redis = createClient(options)
  let lastLoggedAt = 0
  const complain = (error: unknown): void => {
    if (Date.now() - lastLoggedAt < LOG_INTERVAL_MS) return
    lastLoggedAt = Date.now()
    log.warn({ err: error }, 'Redis is unavailable; continuing without it')
  }
  redis.on('error', complain)
  return { redis, complain }
}

const createClient = ({ sentinel, cluster, ...options }: RedisOptions): Redis | Cluster => {
  const url = new URL(options.url)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = url.port === '' ? DEFAULT_PORT : Number(url.port)
  const connection = connectionOptions(url, options)
  const db = Number(url.pathname.slice(1) || 0)
  // Commands fail at once while disconnected, instead of waiting in a queue.
  const patience = { enableOfflineQueue: false, retryStrategy: retryAfter }
  if (sentinel) {
    return new Redis({
      db,
      ...connection,
      ...patience,
      sentinels: sentinel.nodes.map(hostAndPort),
      name: sentinel.master,
      ...(sentinel.password && { sentinelPassword: sentinel.password }),
      ...(connection.tls && { enableTLSForSentinelMode: true, sentinelTLS: connection.tls }),
      sentinelRetryStrategy: retryAfter,
    })
  }
  if (cluster) {
    const { keyPrefix, ...nodeConnection } = connection
    return new Cluster([{ host, port }], {
      ...(keyPrefix !== undefined && { keyPrefix }),
      enableOfflineQueue: false,
      clusterRetryStrategy: retryAfter,
      redisOptions: nodeConnection,
      // Names as the nodes give them, or their certificates would not match.
      dnsLookup: (address, answer) => answer(null, address),
    })
  }
  return new Redis({ host, port, db, ...connection, ...patience })
}

const retryAfter = (attempt: number): number => Math.min(2_000, 50 * 2 ** attempt)

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
    // Without an answer for so long the connection is given up: ioredis keeps what it has asked on it for ever.
    socketTimeout: 5_000,
    maxRetriesPerRequest: 0,
    // What is asked for at one moment goes in one write.
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
