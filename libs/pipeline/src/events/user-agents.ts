import { describeUserAgent, isBot, type UserAgent } from '@waymark/domain'
import { LRUCache } from 'lru-cache'

const MAX_USER_AGENTS = 10_000

/** Reads user agents, remembering what they say: a few thousand make up nearly all traffic, and reading one is slow. */
export const rememberUserAgents = (): ((header: string | null) => UserAgent) => remember(describeUserAgent)

/** Tells bots by their user agents, remembering them likewise. */
export const rememberBots = (): ((header: string | null) => boolean) => remember(isBot)

const remember = <T extends UserAgent | boolean>(
  read: (header: string | null) => T,
): ((header: string | null) => T) => {
  const known = new LRUCache<string, T>({ max: MAX_USER_AGENTS })
  return (header) => {
    const key = header ?? ''
    const remembered = known.get(key)
    if (remembered !== undefined) return remembered
    const fresh = read(header)
    known.set(key, fresh)
    return fresh
  }
}
