import { useMemo } from 'react'
import { useUrlState } from '../api/url-state.ts'
import type { Kind, Queries } from './query-types.ts'
import { formatQuery, parseQuery, validQueryOf } from './query-url.ts'
import { DEFAULT_RANGE, formatRange, parseRange, type Range } from './time-range.ts'

/** The query of a page, stored in its URL. */
export type QueryState<K extends Kind> = {
  kind: K
  query: Queries[K]
  range: Range
  /** The valid part of the query; undefined while it is incomplete. */
  validQuery: Queries[K] | undefined
  /** The id of the opened insight. */
  insightId: string | undefined
  /** Changes fields of the query; undefined removes a field. */
  change: (change: { [F in keyof Queries[K]]?: Queries[K][F] | undefined }) => void
  setRange: (range: Range) => void
}

export const useQueryState = <K extends Kind>(kind: K): QueryState<K> => {
  const [search, set] = useUrlState<string>()
  // The state is a new object after each navigation, even if the query is unchanged.
  const key = JSON.stringify(search)
  const { query, range, validQuery } = useMemo(() => {
    const texts: Partial<Record<string, string>> = JSON.parse(key)
    const chosen = parseRange(texts) ?? DEFAULT_RANGE
    const parsed = parseQuery(kind, texts, chosen)
    return { query: parsed, range: chosen, validQuery: validQueryOf(kind, parsed) }
  }, [kind, key])
  return {
    kind,
    query,
    range,
    validQuery,
    insightId: search.insight,
    change: (change) => set(formatQuery(kind, { ...query, ...change })),
    // The interval of a trend follows its range until another is selected.
    setRange: (next) => set({ ...formatRange(next), ...(kind === 'trends' && { interval: '' }) }),
  }
}
