import { describeUserAgent, type UserAgent } from '@waymark/domain/enrichment'
import { LRUCache } from 'lru-cache'

const MAX_USER_AGENTS = 10_000

/** Parses user agents with a cache, because parsing is slow and a few thousand make up nearly all traffic. */
export const cacheUserAgents = (): ((header: string | null, isApp?: boolean) => UserAgent) => {
  const createCache = (isApp: boolean) =>
    new LRUCache<string, UserAgent>({
      max: MAX_USER_AGENTS,
      memoMethod: (header) => describeUserAgent(header, isApp),
    })
  const [others, apps] = [createCache(false), createCache(true)]
  return (header, isApp = false) => (isApp ? apps : others).memo(header ?? '')
}
