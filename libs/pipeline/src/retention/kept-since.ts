import type { ProjectSettings } from '@waymark/contracts/project-settings'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import type { ProjectConfig } from '@waymark/project-config'

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

/** Whether the project of an event still keeps it by its time. */
export const keptBy =
  (configs: ReadonlyMap<string, Pick<ProjectConfig, 'settings'>>, now: number) =>
  ({ projectId, timestamp }: Pick<EnrichedEvent, 'projectId' | 'timestamp'>): boolean => {
    const since = keptSince(configs.get(projectId)?.settings ?? {}, now)
    return since === undefined || Date.parse(timestamp) >= since
  }
