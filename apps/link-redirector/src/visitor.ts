import type { IncomingMessage } from 'node:http'
import { describeVisitor, isBot, type LinkVisitor, type UserAgent } from '@waymark/domain'
import type { Click } from './click-recorder.ts'

export type VisitorReaderDeps = {
  describeUserAgent: (header: string | null) => UserAgent
  countryOf: (ip: string) => string | null
}

/** Reads who follows a link. */
export const createVisitorReader = ({ describeUserAgent, countryOf }: VisitorReaderDeps) => ({
  /** What a click keeps of the request. */
  read: (req: IncomingMessage, ip: string): Pick<Click, 'ip' | 'userAgent' | 'referrer' | 'prefetch'> => ({
    ip: ip === '' ? null : ip,
    userAgent: agentOf(req),
    referrer: req.headers.referer ?? null,
    prefetch: isPrefetch(req),
  }),
  /** What targets choose by. */
  describe: (req: IncomingMessage, ip: string): LinkVisitor =>
    describeVisitor(describeUserAgent(agentOf(req)), ip === '' ? null : countryOf(ip)),
  /** Whether it is neither a bot nor a browser that fetches ahead. An unknown agent is a human. */
  isHuman: (req: IncomingMessage): boolean => !isPrefetch(req) && !isBot(agentOf(req)),
})

export type VisitorReader = ReturnType<typeof createVisitorReader>

const agentOf = ({ headers }: IncomingMessage): string | null => headers['user-agent'] ?? null

const FETCHES_AHEAD = /prefetch|prerender|preview/i

// Firefox alone has used X-Moz, Safari Purpose: preview; Sec-Purpose is the standard.
const isPrefetch = ({ headers }: IncomingMessage): boolean =>
  saysAhead(headers['sec-purpose']) ||
  saysAhead(headers.purpose) ||
  saysAhead(headers['x-moz']) ||
  saysAhead(headers['x-purpose'])

const saysAhead = (purpose: string | string[] | undefined): boolean =>
  typeof purpose === 'string' && FETCHES_AHEAD.test(purpose)
