import { useQuery } from '@tanstack/react-query'
import { ApiError, api, unwrap } from '../api/client.ts'
import { fittedQuery } from '../dashboards/tile.tsx'
import type { Kind, Results } from '../explore/query-types.ts'
import { readSaved } from '../explore/query-url.ts'
import { atATime, type QueryResult, whenBusy, zoneOf } from '../explore/run-query.ts'
import { DEFAULT_RANGE, type Range, resolveRange } from '../explore/time-range.ts'
import { webRequest } from '../web/use-web.ts'
import type { WebFilter } from '../web/web-filters.ts'

/** How soon the page notices that the link was revoked, and how often figures are read again. */
const REFRESH_MS = 30_000

/** A secret link, with the pass that its password was exchanged for. */
export type SharedLink = { secret: string; pass: string | undefined }

const headersOf = ({ pass }: SharedLink): Record<string, string> =>
  pass === undefined ? {} : { 'X-Share-Pass': pass }

/** Whether a link has ended: it is unknown, revoked or expired. */
export const hasEnded = (error: unknown): boolean => error instanceof ApiError && error.status === 404

/** Whether a link needs its password. */
export const isLocked = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 'password_required'

const readShared = (link: SharedLink) =>
  unwrap(api.GET('/api/shared/{key}', { params: { path: { key: link.secret } }, headers: headersOf(link) }))
export type SharedContent = Awaited<ReturnType<typeof readShared>>
export type SharedInsight = SharedContent['insights'][number]

/** What the link shares. */
export const useShared = (link: SharedLink) =>
  useQuery({
    queryKey: ['shared', link],
    queryFn: () => readShared(link),
    refetchInterval: REFRESH_MS,
    ...whenBusy,
  })

/** Exchanges the password of a link for a pass. */
export const unlock = async (secret: string, password: string): Promise<string> => {
  const path = { key: secret }
  const { pass } = await unwrap(
    api.POST('/api/shared/{key}/unlock', { params: { path }, body: { password } }),
  )
  return pass
}

/** The visits that the link shares. */
export const useSharedWeb = (link: SharedLink, range: Range, filters: readonly WebFilter[]) =>
  useQuery({
    queryKey: ['shared-web', link, range, filters],
    queryFn: ({ signal }) =>
      atATime(() =>
        unwrap(
          api.POST('/api/shared/{key}/web', {
            params: { path: { key: link.secret } },
            headers: headersOf(link),
            body: webRequest(range, filters),
            signal,
          }),
        ),
      ),
    placeholderData: (last) => last,
    refetchInterval: REFRESH_MS,
    ...whenBusy,
  })

/** The result of an insight that the link shares. */
export const useSharedResult = <K extends Kind>(
  link: SharedLink,
  kind: K,
  insight: SharedInsight,
  chosen: Range | undefined,
) =>
  useQuery({
    queryKey: ['shared-result', link, insight, chosen],
    queryFn: ({ signal }) =>
      atATime(async (): Promise<QueryResult<K>> => {
        const saved = readSaved(kind, insight.query)
        const range = chosen ?? saved.range ?? DEFAULT_RANGE
        const query = fittedQuery(kind, saved.query, range)
        const timeZone = zoneOf(query)
        const period = resolveRange(range, timeZone)
        const data = await unwrap(
          api.POST('/api/shared/{key}/insights/{id}', {
            params: { path: { key: link.secret, id: insight.id } },
            headers: headersOf(link),
            body: { ...period, timeZone, ...('interval' in query && { interval: query.interval }) },
            signal,
          }),
        )
        return { query, range: period, data: data[kind] as Results[K] }
      }),
    placeholderData: (last) => last,
    refetchInterval: REFRESH_MS,
    ...whenBusy,
  })
