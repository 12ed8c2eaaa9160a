export { type ApiKey, type ApiKeys, createApiKeys } from './api-keys.ts'
export { type ConfigChanges, createConfigChanges, noteConfigChange } from './config-changes.ts'
export { createProjectConfigs, type ProjectConfig, type ProjectConfigs } from './project-configs.ts'
