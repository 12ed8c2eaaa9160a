import { ProjectSettings } from '../project-settings.ts'
import { defineOperation } from './operation.ts'

const tag = 'Settings'
const path = '/api/projects/{projectId}/settings'

export const getSettings = defineOperation({
  id: 'getSettings',
  method: 'get',
  path,
  tag,
  summary: 'Read the settings that are not at their defaults',
  access: { by: 'project', role: 'viewer' },
  answers: { 200: { description: 'The settings', schema: ProjectSettings } },
})

export const updateSettings = defineOperation({
  id: 'updateSettings',
  method: 'patch',
  path,
  tag,
  summary: 'Replace the settings that the body names',
  description: 'They hold in every process within 5 seconds.',
  access: { by: 'project', role: 'admin' },
  body: ProjectSettings,
  answers: { 200: { description: 'All settings', schema: ProjectSettings } },
})

export const settingsOperations = [getSettings, updateSettings]
