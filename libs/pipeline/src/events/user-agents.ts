import { describeUserAgent, type UserAgent } from '@waymark/domain'
import { LRUCache } from 'lru-cache'

const MAX_USER_AGENTS = 10_000

/** Parses user agents with a cache, because parsing is slow and a few thousand make up nearly all traffic. */
export const cacheUserAgents = (): ((header: string | null) => UserAgent) => {
  const cache = new LRUCache<string, UserAgent>({ max: MAX_USER_AGENTS, memoMethod: describeUserAgent })
  return (header) => cache.memo(header ?? '')
}
