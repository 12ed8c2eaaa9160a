import { AppError } from '@waymark/contracts'
import type { ProjectConfig, ProjectConfigs } from '@waymark/project-config'

const RETRY_AFTER_S = 30

/**
 * The configuration that a project's events are held against.
 * @throws AppError store_unavailable when nobody can say which events are conversions (SELECTOR_LOOKUP_FAILED)
 */
export const eventConfigOf = async (
  projectConfigs: ProjectConfigs,
  projectId: string,
): Promise<ProjectConfig> => {
  try {
    return await projectConfigs.get(projectId)
  } catch (error) {
    const details = { retryAfter: RETRY_AFTER_S }
    throw new AppError('store_unavailable', 'SELECTOR_LOOKUP_FAILED', details, { cause: error })
  }
}
