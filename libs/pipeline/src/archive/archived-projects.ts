import type { EnrichedEvent } from '@waymark/contracts'
import type { ProjectConfigs } from '@waymark/project-config'

/** The projects of a batch whose events are archived. */
export const archivedProjectsOf = async (
  projectConfigs: ProjectConfigs,
  events: readonly EnrichedEvent[],
): Promise<ReadonlySet<string>> => {
  const archived = new Set<string>()
  for (const projectId of new Set(events.map((event) => event.projectId)))
    if ((await projectConfigs.get(projectId)).settings.archiveEvents === true) archived.add(projectId)
  return archived
}
