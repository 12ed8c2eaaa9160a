import type { Database } from '@waymark/database'
import type { KafkaOptions } from '@waymark/event-bus'
import { Gauge, type Registry } from 'prom-client'

/** Shows how the pool of connections to PostgreSQL is used. */
export const measureDatabase = ({ pool }: Pick<Database, 'pool'>, registry: Registry): void => {
  const connections = new Gauge({
    name: 'waymark_database_connections',
    help: 'Connections to PostgreSQL that are open, those of them that are idle, and callers that wait for one',
    labelNames: ['state'],
    registers: [registry],
    collect: () => {
      connections.set({ state: 'open' }, pool.totalCount)
      connections.set({ state: 'idle' }, pool.idleCount)
      connections.set({ state: 'waiting' }, pool.waitingCount)
    },
  })
}

/** Shows how far consumers are behind on the partitions that are theirs, as the event bus tells. */
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
