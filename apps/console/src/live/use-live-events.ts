import { type InfiniteData, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useProjectId } from '../api/session.ts'
import type { WaymarkEvent } from '../api/types.ts'

type Pages = InfiniteData<{ data: WaymarkEvent[]; nextCursor: string | null }>
type Filters = { eventName?: string | undefined; visitorId?: string | undefined; userId?: string | undefined }

/** Events that arrived too fast to be sent one by one, and when the last of them was received. */
export type Skipped = { count: number; until: string }
type Gap = { dropped: number; to: string }

/** Delay before a refused stream is retried, in ms. */
const RETRY_MS = 5_000

/**
 * Adds events to a list as they are stored. The stream is closed while `paused` and while the page is hidden.
 * @returns whether the stream is open, and what it left out since it was opened
 */
export const useLiveEvents = (
  listKey: readonly unknown[],
  filters: Filters,
  paused: boolean,
): { open: boolean; skipped: Skipped | undefined } => {
  const client = useQueryClient()
  const projectId = useProjectId()
  const visible = useVisible()
  const [open, setOpen] = useState(false)
  const [skipped, setSkipped] = useState<Skipped>()
  const key = JSON.stringify(['list', ...listKey])
  const query = new URLSearchParams(
    Object.entries(filters).filter((entry): entry is [string, string] => Boolean(entry[1])),
  ).toString()
  useEffect(() => {
    if (paused || !visible) return
    const queryKey = JSON.parse(key) as unknown[]
    let retry: ReturnType<typeof setTimeout> | undefined
    let source: EventSource
    const connect = () => {
      source = new EventSource(`/api/projects/${projectId}/events/stream?${query}`)
      // Events stored before the stream started are in the list.
      source.onopen = () => {
        setOpen(true)
        void client.invalidateQueries({ queryKey })
      }
      source.onmessage = ({ data }: MessageEvent<string>) => {
        const event = JSON.parse(data) as WaymarkEvent
        client.setQueryData<Pages>(queryKey, (pages) => pages && withEvent(pages, event))
      }
      source.addEventListener('gap', ({ data }: MessageEvent<string>) => {
        const { dropped, to } = JSON.parse(data) as Gap
        setSkipped((before) => ({ count: (before?.count ?? 0) + dropped, until: to }))
        void client.invalidateQueries({ queryKey })
      })
      source.addEventListener('end', () => {
        source.close()
        setOpen(false)
        void client.invalidateQueries()
      })
      source.onerror = () => {
        setOpen(false)
        if (source.readyState !== EventSource.CLOSED) return
        void client.invalidateQueries({ queryKey })
        retry = setTimeout(connect, RETRY_MS)
      }
    }
    connect()
    return () => {
      clearTimeout(retry)
      source.close()
      setOpen(false)
      setSkipped(undefined)
    }
  }, [client, projectId, key, query, paused, visible])
  return { open, skipped }
}

const withEvent = (pages: Pages, event: WaymarkEvent): Pages => {
  const [first, ...rest] = pages.pages
  if (!first || pages.pages.some(({ data }) => data.some(({ eventId }) => eventId === event.eventId)))
    return pages
  return { ...pages, pages: [{ ...first, data: [event, ...first.data] }, ...rest] }
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
