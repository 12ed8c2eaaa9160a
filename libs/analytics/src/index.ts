export { type Analytics, MAX_GROUPS, type MetricQuery, type MetricRow } from './port.ts'
export { createPostgresAnalytics } from './postgres-analytics.ts'
