import { ingestRecords } from '@waymark/contracts/topics'
import { classifyStoreError } from '@waymark/database'
import { createKafkaEventBus, ensureKafkaTopics } from '@waymark/event-bus'
import { createLog } from '@waymark/service-kit'
import { aRecord, outgoing } from './events.ts'

const WARM_UP = { ...ingestRecords, name: 'bench.warm-up.v1' }
/** Number of records per publisher in one call: batches of every size that the benchmarks produce. */
const SIZES = [...Array.from({ length: 16 }, () => 1), 100, 1_000]

/**
 * Lets a new Kafka broker compile its code, as after days of use. Otherwise its compiler would take a tenth of a core
 * at times for minutes of a benchmark.
 */
export const warmKafka = async (brokers: string[], partitions: number, seconds: number): Promise<void> => {
  const log = createLog('bench', 'error')
  await ensureKafkaTopics({ brokers, clientId: 'bench' }, [WARM_UP], { partitions, replication: 1 }, log)
  const bus = createKafkaEventBus({ brokers, clientId: 'bench' }, { log, classifyError: classifyStoreError })
  const until = performance.now() + seconds * 1_000
  const publish = async (size: number): Promise<void> => {
    const records = Array.from({ length: size }, () => outgoing(aRecord('bench')))
    while (performance.now() < until) await bus.publish(WARM_UP, records)
  }
  await Promise.all(SIZES.map(publish))
  await bus.close()
}
