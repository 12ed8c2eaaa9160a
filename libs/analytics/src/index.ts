export type { Analytics } from './port.ts'
export { createPostgresAnalytics } from './postgres-analytics.ts'
