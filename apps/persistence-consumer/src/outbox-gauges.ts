import { readOutboxDepth } from '@waymark/pipeline'
import { everyMs, type Loop, type Platform } from '@waymark/service-kit'
import { Gauge } from 'prom-client'

const INTERVAL_MS = 10_000

/** Measures the outbox, which also holds the events of gateways while Kafka is unavailable. */
export const watchOutbox = ({ db, metrics }: Pick<Platform, 'db' | 'metrics'>): Loop => {
  const registers = [metrics]
  const records = new Gauge({
    name: 'waymark_outbox_records',
    help: 'Records in the outbox, counted up to 100,000',
    registers,
  })
  const oldest = new Gauge({
    name: 'waymark_outbox_oldest_seconds',
    help: 'Age of the oldest record in the outbox',
    registers,
  })
  return everyMs('outbox-gauges', INTERVAL_MS, async () => {
    const depth = await readOutboxDepth(db)
    records.set(depth.records)
    oldest.set(depth.oldestSeconds)
  })
}
