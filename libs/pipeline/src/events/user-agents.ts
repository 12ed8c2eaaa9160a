import { describeUserAgent, isBot, type UserAgent } from '@waymark/domain'
import { LRUCache } from 'lru-cache'

const MAX_USER_AGENTS = 10_000

/** Parses user agents with a cache, because parsing is slow and a few thousand make up nearly all traffic. */
export const cacheUserAgents = (): ((header: string | null) => UserAgent) => cached(describeUserAgent)

/** Detects bots by their user agents, with a cache as well. */
export const cacheBots = (): ((header: string | null) => boolean) => cached(isBot)

const cached = <T extends UserAgent | boolean>(
  read: (header: string | null) => T,
): ((header: string | null) => T) => {
  const cache = new LRUCache<string, T>({ max: MAX_USER_AGENTS, memoMethod: (header) => read(header) })
  return (header) => cache.memo(header ?? '')
}
