import { createArchiver, readArchiveDelay } from '@waymark/pipeline'
import { type Archive, drain, everyMs, type Loop, type Platform } from '@waymark/service-kit'
import { Counter, Gauge } from 'prom-client'

const ARCHIVE_INTERVAL_MS = 30_000
const MEASURE_INTERVAL_MS = 30_000

/** Writes the archive, if there is one, and measures what waits for it, also without one. */
export const archiveLoops = (
  { db, log, clock, metrics }: Pick<Platform, 'db' | 'log' | 'clock' | 'metrics'>,
  archive: Archive | undefined,
): Loop[] => {
  const registers = [metrics]
  const archived = new Counter({
    name: 'waymark_archived_events_total',
    help: 'Events in finished files of the archive',
    registers,
  })
  const delay = new Gauge({
    name: 'waymark_archive_delay_seconds',
    help: 'How long the longest-waiting event has been queued for the archive since its hour ended',
    registers,
  })
  const measure = everyMs('archive-gauges', MEASURE_INTERVAL_MS, async () =>
    delay.set(await readArchiveDelay(db.pool)),
  )
  if (!archive) return [measure]
  const writeFile = createArchiver({
    ...archive,
    ...{ db, log, now: clock, onFile: (events) => archived.inc(events) },
  })
  return [measure, drain('archive', ARCHIVE_INTERVAL_MS, writeFile)]
}
