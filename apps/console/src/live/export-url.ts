import type { Filter } from '../explore/query-types.ts'
import { isComplete } from '../explore/query-url.ts'

export const FORMATS = [
  ['jsonl', 'JSON lines'],
  ['csv', 'CSV'],
  ['excel', 'CSV for Excel'],
  ['parquet', 'Parquet'],
] as const

/** The largest number of events that the API takes as a limit. */
export const MAX_EXPORT_LIMIT = 10_000_000

/** What is exported. Empty texts mean no restriction. */
export type ExportChoice = {
  format: (typeof FORMATS)[number][0]
  times: { from: string; to: string } | undefined
  ids: { eventName?: string; visitorId?: string; userId?: string }
  filters: readonly Filter[]
  limit: string
}

/** The extension of an exported file. */
export const extensionOf = (format: ExportChoice['format']): string => (format === 'excel' ? 'csv' : format)

/** The address of an export. Filters that are not complete are left out. */
export const exportUrl = (
  projectId: string,
  { format, times, ids, filters, limit }: ExportChoice,
): string => {
  const query = new URLSearchParams(
    format === 'excel' ? { format: 'csv', bom: 'true', ...times } : { format, ...times },
  )
  for (const [name, value] of Object.entries(ids)) if (value) query.set(name, value)
  const complete = filters.filter(isComplete)
  if (complete.length > 0) query.set('filters', JSON.stringify(complete))
  const count = Math.floor(Number(limit))
  if (count >= 1) query.set('limit', `${Math.min(count, MAX_EXPORT_LIMIT)}`)
  return `/api/projects/${projectId}/events/export?${query}`
}
