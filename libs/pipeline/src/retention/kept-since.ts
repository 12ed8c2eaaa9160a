import type { EnrichedEvent, ProjectSettings } from '@waymark/contracts'
import type { ProjectConfigs } from '@waymark/project-config'

const DAY_MS = 24 * 60 * 60 * 1000

/**
 * The beginning (in ms) of the first day (UTC) whose events a project keeps: at least the last `retentionDays` times 24
 * hours, and at most a day more. `undefined` when it keeps all.
 */
export const keptSince = (
  { retentionDays }: Pick<ProjectSettings, 'retentionDays'>,
  now: number,
): number | undefined =>
  retentionDays === undefined ? undefined : Math.floor((now - retentionDays * DAY_MS) / DAY_MS) * DAY_MS

/** Whether the project of an event of the batch still keeps it by its time. */
export const keptEventsIn = async (
  projectConfigs: ProjectConfigs,
  events: readonly EnrichedEvent[],
  now: number,
): Promise<(event: EnrichedEvent) => boolean> => {
  const since = new Map<string, number>()
  for (const projectId of new Set(events.map((event) => event.projectId))) {
    const start = keptSince((await projectConfigs.get(projectId)).settings, now)
    if (start !== undefined) since.set(projectId, start)
  }
  return ({ projectId, timestamp }) =>
    since.size === 0 || Date.parse(timestamp) >= (since.get(projectId) ?? Number.NEGATIVE_INFINITY)
}
