import { describeVisitor, isBot, type LinkVisitor, type UserAgent } from '@waymark/domain'
import type { Request } from 'express'
import type { Click } from './click-recorder.ts'

export type VisitorReaderDeps = {
  describeUserAgent: (header: string | null) => UserAgent
  countryOf: (ip: string) => string | null
}

/** Reads who follows a link. */
export const createVisitorReader = ({ describeUserAgent, countryOf }: VisitorReaderDeps) => ({
  /** What a click keeps of the request. */
  read: (req: Request): Pick<Click, 'ip' | 'userAgent' | 'referrer' | 'prefetch'> => ({
    ip: req.ip ?? null,
    userAgent: agentOf(req),
    referrer: req.headers.referer ?? null,
    prefetch: isPrefetch(req),
  }),
  /** What targets choose by. */
  describe: (req: Request): LinkVisitor =>
    describeVisitor(describeUserAgent(agentOf(req)), req.ip === undefined ? null : countryOf(req.ip)),
  /** Whether it is neither a bot nor a browser that fetches ahead. An unknown agent is a human. */
  isHuman: (req: Request): boolean => !isPrefetch(req) && !isBot(agentOf(req)),
})

export type VisitorReader = ReturnType<typeof createVisitorReader>

const agentOf = ({ headers }: Request): string | null => headers['user-agent'] ?? null

const FETCHES_AHEAD = /prefetch|prerender|preview/i

// Firefox alone has used X-Moz, Safari Purpose: preview; Sec-Purpose is the standard.
const isPrefetch = ({ headers }: Request): boolean =>
  [headers['sec-purpose'], headers.purpose, headers['x-moz'], headers['x-purpose']].some(
    (purpose) => typeof purpose === 'string' && FETCHES_AHEAD.test(purpose),
  )
