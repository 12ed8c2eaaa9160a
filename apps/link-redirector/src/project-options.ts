import type { IpStorage } from '@waymark/contracts'
import type { ProjectConfigs } from '@waymark/project-config'
import { LRUCache } from 'lru-cache'

/** What a project's settings say about its links. */
export type ProjectOptions = { appendClickId: boolean; ipStorage: IpStorage }

const MAX_PROJECTS = 5_000
/** How long options count before they are asked for again, in the background, in ms. */
const REFRESH_MS = 1_000
const DEFAULTS: ProjectOptions = { appendClickId: true, ipStorage: 'truncate' }

/** Knows a project's options without making a visitor wait for them more than once. */
export const createProjectOptions = (projectConfigs: ProjectConfigs, now: () => number) => {
  const known = new LRUCache<string, { options: ProjectOptions; askedAt: number }>({ max: MAX_PROJECTS })

  const ask = async (projectId: string): Promise<ProjectOptions> => {
    const { settings } = await projectConfigs.get(projectId)
    const options = {
      appendClickId: settings.links?.appendClickId ?? DEFAULTS.appendClickId,
      ipStorage: settings.ipStorage ?? DEFAULTS.ipStorage,
    }
    known.set(projectId, { options, askedAt: now() })
    return options
  }

  return (projectId: string): ProjectOptions | Promise<ProjectOptions> => {
    const entry = known.get(projectId)
    // A link that can be followed is not held up by settings that cannot be read.
    if (!entry) return ask(projectId).catch(() => DEFAULTS)
    if (now() - entry.askedAt > REFRESH_MS) {
      entry.askedAt = now()
      ask(projectId).catch(() => {})
    }
    return entry.options
  }
}
