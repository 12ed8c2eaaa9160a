import type { Database } from '@waymark/database'
import type { EventWrites } from '@waymark/event-store'
import { keptSince } from './kept-since.ts'
import {
  findDueProjects,
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

export type RetentionDeps = {
  db: Database
  eventStore: Pick<EventWrites, 'removeOldestDay'>
  archivedUntil: ArchivedUntil
  /** The current time in ms. */
  now: () => number
}

/**
 * Removes the events that are older than the retention of their project, a day at a time by the time of the event. Those that
 * the archive does not have yet stay until it has. It may stop at any point; the next run finds what is left.
 */
export const createRetention = ({ db, eventStore, archivedUntil, now }: RetentionDeps) => {
  const removeOld = async (project: ProjectRetention, signal: AbortSignal): Promise<void> => {
    const { projectId, days } = project
    const before = keptSince({ retentionDays: days }, now()) ?? Number.NEGATIVE_INFINITY
    const receivedBefore = await archivedUntil(projectId)
    const goOn = async () => !signal.aborted && renewRemoval(db.pool, project, LEASE_SECONDS)
    while ((await goOn()) && (await eventStore.removeOldestDay({ projectId, before, receivedBefore })));
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
