import type { Cache } from '@waymark/cache'
import type { Database } from '@waymark/database'
import type { KafkaOptions } from '@waymark/event-bus'
import { Counter, Gauge, type Registry } from 'prom-client'

/** Adds a count of hits and misses to a cache. */
export const measureCache = (cache: Cache, registry: Registry): Cache => {
  const requests = new Counter({
    name: 'waymark_cache_requests_total',
    help: 'Values requested from the shared cache, by whether it had them',
    labelNames: ['result'],
    registers: [registry],
  })
  for (const result of ['hit', 'miss']) requests.inc({ result }, 0)
  return {
    ...cache,
    get: async (key) => {
      const value = await cache.get(key)
      requests.inc({ result: value === undefined ? 'miss' : 'hit' })
      return value
    },
  }
}

/** Counts failures of Redis: commands without an answer in time, and connections that were lost or refused. */
export const measureRedis = (registry: Registry): (() => void) => {
  const failures = new Counter({
    name: 'waymark_redis_failures_total',
    help: 'Commands that Redis did not answer in time, and failed connections',
    registers: [registry],
  })
  return () => failures.inc()
}

/** Reports the use of the connection pool of PostgreSQL. */
export const measureDatabase = (
  { pool, waiting }: Pick<Database, 'pool' | 'waiting'>,
  registry: Registry,
): void => {
  const connections = new Gauge({
    name: 'waymark_database_connections',
    help: 'Connections to PostgreSQL that are open, those of them that are idle, and callers that wait for one',
    labelNames: ['state'],
    registers: [registry],
    collect: () => {
      connections.set({ state: 'open' }, pool.totalCount)
      connections.set({ state: 'idle' }, pool.idleCount)
      connections.set({ state: 'waiting' }, waiting())
    },
  })
}

/** Reports the lag of consumers on the partitions that they own. */
export const measureLag = (registry: Registry): NonNullable<KafkaOptions['onLag']> => {
  const lag = new Gauge({
    name: 'waymark_consumer_lag_records',
    help: 'Records of a partition that a group has yet to handle, as of its last fetch',
    labelNames: ['group', 'topic', 'partition'],
    registers: [registry],
  })
  return ({ group, topic, partition }, records) => {
    const labels = { group, topic, partition: `${partition}` }
    if (records === undefined) lag.remove(labels)
    else lag.set(labels, records)
  }
}
