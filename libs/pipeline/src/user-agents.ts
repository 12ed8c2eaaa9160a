import { describeUserAgent, type UserAgent } from '@waymark/domain'
import { LRUCache } from 'lru-cache'

const MAX_USER_AGENTS = 10_000

/** Reads user agents, remembering what they say: a few thousand make up nearly all traffic, and reading one is slow. */
export const rememberUserAgents = (): ((header: string | null) => UserAgent) => {
  const agents = new LRUCache<string, UserAgent>({ max: MAX_USER_AGENTS })
  return (header) => {
    const key = header ?? ''
    const known = agents.get(key)
    if (known) return known
    const described = describeUserAgent(header)
    agents.set(key, described)
    return described
  }
}
