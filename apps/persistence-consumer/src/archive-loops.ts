import {
  createArchiveEraser,
  createArchiver,
  forgetQueued,
  readArchiveDelay,
  readWaitingErasures,
} from '@waymark/pipeline'
import { type Archive, drain, everyMs, type Loop, type Platform } from '@waymark/service-kit'
import { Counter, Gauge } from 'prom-client'

const ARCHIVE_INTERVAL_MS = 30_000
const ERASE_INTERVAL_MS = 60_000
const MEASURE_INTERVAL_MS = 30_000
const FORGET_INTERVAL_MS = 60_000

/** Writes the archive and takes erased people out of it, if there is one, and measures what waits for it, also without one. */
export const archiveLoops = (
  { db, eventStore, log, clock, metrics }: Pick<Platform, 'db' | 'eventStore' | 'log' | 'clock' | 'metrics'>,
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
  const erased = new Counter({
    name: 'waymark_archive_erased_events_total',
    help: 'Events of erased people that were taken out of files of the archive',
    registers,
  })
  const erasureDelay = new Gauge({
    name: 'waymark_archive_erasure_delay_seconds',
    help: 'How long the oldest erasure has waited for files of the archive to be rewritten',
    registers,
  })
  const measure = everyMs('archive-gauges', MEASURE_INTERVAL_MS, async () => {
    delay.set(await readArchiveDelay(db.pool))
    erasureDelay.set((await readWaitingErasures(db.pool)).seconds)
  })
  if (!archive) return [measure, drain('archive-queue', FORGET_INTERVAL_MS, () => forgetQueued(db.pool))]
  const writeFile = createArchiver({
    ...archive,
    db,
    events: eventStore,
    log,
    now: clock,
    onFile: (events) => archived.inc(events),
  })
  const erasePeople = createArchiveEraser({
    db,
    log,
    store: archive.store,
    onFile: (events) => erased.inc(events),
  })
  return [
    measure,
    drain('archive', ARCHIVE_INTERVAL_MS, writeFile),
    drain('archive-erasures', ERASE_INTERVAL_MS, erasePeople),
  ]
}
