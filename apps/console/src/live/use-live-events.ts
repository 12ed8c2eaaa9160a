import { type InfiniteData, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { api, unwrap } from '../api/client.ts'
import { type List, useList } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import type { WaymarkEvent } from '../api/types.ts'

export type EventFilters = { eventName?: string; visitorId?: string; userId?: string; eventId?: string }

/** `readAt` is the number of events that had been received when the page was requested. */
type Page = { data: WaymarkEvent[]; nextCursor: string | null; readAt: number }
type Received = { event: WaymarkEvent; number: number }

/** Events that arrived too fast to be sent one by one, and when the last of them was received. */
export type Skipped = { count: number; until: string }
type Gap = { dropped: number; to: string }

/** Delay before a refused stream is retried, in ms. */
const RETRY_MS = 5_000
const PAGE_SIZE = 50
/** The largest page of the API. The newest events are at most as many; older ones follow page by page. */
const MAX_NEWEST = 500

/** The number of events that this tab has received. */
let received = 0

/**
 * The newest events, and those that arrive while the page is visible and not `paused`. They are kept apart until the
 * list has been read again, because pages that are read while events arrive may lack these.
 * @param limit how many to show; all, page by page, if undefined
 * @returns the list, whether the stream is open, and what it left out since it was opened
 */
export const useLiveEvents = (
  filters: EventFilters,
  limit: number | undefined,
  paused: boolean,
): { list: List<WaymarkEvent>; isStreaming: boolean; skipped: Skipped | undefined } => {
  const client = useQueryClient()
  const projectId = useProjectId()
  const visible = useVisible()
  const [isStreaming, setStreaming] = useState(false)
  const [skipped, setSkipped] = useState<Skipped>()
  const listKey = [projectId, 'events', filters, limit ?? null]
  const key = JSON.stringify(['list', ...listKey])
  const [stream, setStream] = useState<{ key: string; events: readonly Received[] }>()
  const first = client.getQueryData<InfiniteData<Page>>(JSON.parse(key) as unknown[])?.pages[0]
  const newer = stream?.key === key ? stream.events.filter(({ number }) => number > (first?.readAt ?? 0)) : []
  const shown = Math.min(newer.length + (first?.data.length ?? 0), MAX_NEWEST)

  const list = useList<WaymarkEvent>(listKey, async (cursor): Promise<Page> => {
    const readAt = received
    const size = limit ?? (cursor.cursor ? PAGE_SIZE : Math.max(PAGE_SIZE, shown))
    const query = { limit: size, ...filters, ...cursor }
    const page = await unwrap(
      api.GET('/api/projects/{projectId}/events', { params: { path: { projectId }, query } }),
    )
    return { ...page, readAt }
  })

  const { eventId, ...streamed } = filters
  const query = new URLSearchParams(
    Object.entries(streamed).filter((entry): entry is [string, string] => Boolean(entry[1])),
  ).toString()
  // One event by its id does not change.
  const closed = paused || !visible || Boolean(eventId) || list.isPending
  useEffect(() => {
    if (closed) return
    const readAgain = (options = {}) =>
      void client.invalidateQueries({ queryKey: JSON.parse(key) as unknown[] }, options)
    let retry: ReturnType<typeof setTimeout> | undefined
    let source: EventSource
    const connect = () => {
      source = new EventSource(`/api/projects/${projectId}/events/stream?${query}`)
      // Events stored before the stream started are in the list.
      source.onopen = () => {
        setStreaming(true)
        readAgain()
      }
      source.onmessage = ({ data }: MessageEvent<string>) => {
        received += 1
        const next = { event: JSON.parse(data) as WaymarkEvent, number: received }
        setStream((before) => {
          const events = before?.key === key ? before.events : []
          return { key, events: [next, ...events].slice(0, MAX_NEWEST) }
        })
        // Before the first of them is dropped.
        if (received % (MAX_NEWEST / 2) === 0) readAgain({ cancelRefetch: false })
      }
      source.addEventListener('gap', ({ data }: MessageEvent<string>) => {
        const { dropped, to } = JSON.parse(data) as Gap
        setSkipped((before) => ({ count: (before?.count ?? 0) + dropped, until: to }))
        readAgain()
      })
      source.addEventListener('end', () => {
        source.close()
        setStreaming(false)
        void client.invalidateQueries()
      })
      source.onerror = () => {
        setStreaming(false)
        if (source.readyState !== EventSource.CLOSED) return
        readAgain()
        retry = setTimeout(connect, RETRY_MS)
      }
    }
    connect()
    return () => {
      clearTimeout(retry)
      source.close()
      setStreaming(false)
      setSkipped(undefined)
    }
  }, [client, projectId, key, query, closed])

  const all = [...newer.map(({ event }) => event), ...list.rows]
  const rows = [...new Map(all.map((event) => [event.eventId, event])).values()]
  return {
    list:
      limit === undefined ? { ...list, rows } : { ...list, rows: rows.slice(0, limit), hasNextPage: false },
    isStreaming,
    skipped,
  }
}

const useVisible = (): boolean => {
  const [visible, setVisible] = useState(document.visibilityState === 'visible')
  useEffect(() => {
    const update = () => setVisible(document.visibilityState === 'visible')
    document.addEventListener('visibilitychange', update)
    return () => document.removeEventListener('visibilitychange', update)
  }, [])
  return visible
}
