export { type ApiKey, type ApiKeys, createApiKeys } from './api-keys.ts'
export type { ChangesQuery } from './config-change-queries.ts'
export {
  type ChangeNotices,
  createChangeNotices,
  createConfigChanges,
} from './config-changes.ts'
export {
  beginDemoData,
  type DemoData,
  type DemoResourceKind,
  demoResourceIds,
  findDemoData,
  updateDemoData,
} from './demo-data.ts'
export { ensureDemoProject, hasDemoProject } from './demo-project.ts'
export { oneAtATime } from './one-at-a-time.ts'
export {
  createProjectConfigs,
  type LatestProjectConfigs,
  type ProjectConfig,
  type ProjectConfigs,
} from './project-configs.ts'
