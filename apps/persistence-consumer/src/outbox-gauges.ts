import { readOutboxDepth } from '@waymark/pipeline'
import { everyMs, type Loop, type Platform } from '@waymark/service-kit'
import { Gauge } from 'prom-client'

const INTERVAL_MS = 10_000

/** Looks again and again at what waits in the outbox: the spool of a gateway without Kafka, and the relay's work. */
export const watchOutbox = ({ db, metrics }: Pick<Platform, 'db' | 'metrics'>): Loop => {
  const registers = [metrics]
  const records = new Gauge({
    name: 'waymark_outbox_records',
    help: 'Records that wait in the outbox, 100,000 at the most',
    registers,
  })
  const oldest = new Gauge({
    name: 'waymark_outbox_oldest_seconds',
    help: 'For how long the oldest of them has waited',
    registers,
  })
  return everyMs('outbox-gauges', INTERVAL_MS, async () => {
    const depth = await readOutboxDepth(db)
    records.set(depth.records)
    oldest.set(depth.oldestSeconds)
  })
}
