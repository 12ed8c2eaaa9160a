import type { AnalyticsWrites } from '@waymark/analytics'
import type { Database } from '@waymark/database'
import { type EventPlace, placeBefore } from '../stored-events/index.ts'
import { keptSince } from './kept-since.ts'
import {
  deleteEventBatch,
  findDueProjects,
  findOldestReceipt,
  type ProjectRetention,
  renewRemoval,
  setRemovalDue,
  takeRemoval,
} from './retention-queries.ts'

/**
 * Until when (in ms, exclusive, by receipt) the archive has all events of a project, so that these may be removed.
 * `undefined` when none waits for it.
 */
export type ArchivedUntil = (projectId: string) => Promise<number | undefined>

/** How long a process has the removal of a project; it is renewed with every batch, while the setting is the same. */
const LEASE_SECONDS = 10 * 60
const INTERVAL_SECONDS = 60 * 60
const RETRY_SECONDS = 60
const BATCH_EVENTS = 2_000
const DAY_MS = 24 * 60 * 60 * 1000

export type RetentionDeps = {
  db: Database
  analytics: Pick<AnalyticsWrites, 'removeOldestDay'>
  archivedUntil: ArchivedUntil
  /** The current time in ms. */
  now: () => number
  /** Events of one statement in PostgreSQL. */
  batchEvents?: number
}

/**
 * Removes the events that are older than the retention of their project, a day at a time: from PostgreSQL by receipt, from
 * the analytics store by the time of the event. It may stop at any point; the next run finds what is left.
 */
export const createRetention = ({
  db,
  analytics,
  archivedUntil,
  now,
  batchEvents = BATCH_EVENTS,
}: RetentionDeps) => {
  /** Removes while `goOn` resolves to true, which is asked before each batch. */
  type GoOn = () => Promise<boolean>

  const removeReceived = async (projectId: string, before: number, goOn: GoOn): Promise<void> => {
    for (;;) {
      const oldest = await findOldestReceipt(db.pool, projectId, new Date(before))
      if (!oldest) return
      const endOfDay = Math.floor(oldest.getTime() / DAY_MS + 1) * DAY_MS
      const to = new Date(Math.min(endOfDay, before))
      for (let after: EventPlace | undefined = placeBefore(oldest); after; ) {
        if (!(await goOn())) return
        after = await deleteEventBatch(db.pool, projectId, { after, to }, batchEvents)
      }
    }
  }
  const removeFromAnalytics = async (projectId: string, before: number, goOn: GoOn): Promise<void> => {
    while ((await goOn()) && (await analytics.removeOldestDay({ projectId, before })));
  }
  const removeOld = async (project: ProjectRetention, signal: AbortSignal): Promise<void> => {
    const { projectId, days } = project
    const since = keptSince({ retentionDays: days }, now()) ?? Number.NEGATIVE_INFINITY
    const before = Math.min(since, (await archivedUntil(projectId)) ?? since)
    const goOn = async () => !signal.aborted && renewRemoval(db.pool, project, LEASE_SECONDS)
    // From PostgreSQL first: a redelivered event is stored in the analytics store only while it is in PostgreSQL.
    await removeReceived(projectId, before, goOn)
    await removeFromAnalytics(projectId, before, goOn)
  }

  /**
   * Removes what is due. Each project is the work of one process at a time, and one that fails does not delay the others.
   * @throws the first failure, at the end
   */
  return async (signal: AbortSignal): Promise<void> => {
    const failures: unknown[] = []
    for (const project of await findDueProjects(db.pool)) {
      if (signal.aborted) break
      if (!(await takeRemoval(db.pool, project, LEASE_SECONDS))) continue
      try {
        await removeOld(project, signal)
        await setRemovalDue(db.pool, project.projectId, signal.aborted ? 0 : INTERVAL_SECONDS)
      } catch (error) {
        failures.push(error)
        await setRemovalDue(db.pool, project.projectId, RETRY_SECONDS).catch(() => {})
      }
    }
    if (failures.length > 0) throw failures[0]
  }
}
