import { createReadThroughCache } from '@waymark/cache'
import type { Log } from '@waymark/contracts/log'
import type { IpStorage } from '@waymark/contracts/project-settings'
import type { ProjectConfigs } from '@waymark/project-config'

/** What a project's settings say about its links. */
export type ProjectOptions = { appendClickId: boolean; ipStorage: IpStorage }

const MAX_PROJECTS = 5_000
/** How long options are used before they are read again in the background, in ms. */
const TTL_MS = 1_000
const DEFAULTS: ProjectOptions = { appendClickId: true, ipStorage: 'truncate' }

/** Reads a project's options. Only the first visitor of a project waits for them. */
export const createProjectOptions = (projectConfigs: ProjectConfigs, now: () => number, log: Log) => {
  const options = createReadThroughCache<ProjectOptions>({
    name: 'project options',
    read: async (projectId) => {
      const { settings } = await projectConfigs.get(projectId)
      return {
        value: {
          appendClickId: settings.links?.appendClickId ?? DEFAULTS.appendClickId,
          ipStorage: settings.ipStorage ?? DEFAULTS.ipStorage,
        },
      }
    },
    isCurrent: (_options, readAt) => now() - readAt <= TTL_MS,
    staleWhileRefreshing: true,
    max: MAX_PROJECTS,
    now,
    log,
  })

  return async (projectId: string): Promise<ProjectOptions> => {
    try {
      return (await options.get(projectId))?.value ?? DEFAULTS
    } catch {
      // A redirect works without the settings of its project.
      return DEFAULTS
    }
  }
}
