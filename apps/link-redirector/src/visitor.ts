import { clientNetworkOf, type UserAgent } from '@waymark/domain/enrichment'
import { describeVisitor, type LinkVisitor } from '@waymark/domain/link'
import type { HttpRequest } from '@waymark/service-kit'
import type { Click } from './click-recorder.ts'

type VisitorReaderDeps = {
  describeUserAgent: (header: string | null) => UserAgent
  countryOf: (ip: string) => string | null
}

/** Reads the visitor of a request. */
export const createVisitorReader = ({ describeUserAgent, countryOf }: VisitorReaderDeps) => ({
  /** The parts of the request that a click has. */
  read: (request: HttpRequest): Pick<Click, 'ip' | 'userAgent' | 'referrer' | 'prefetch'> => ({
    ip: request.ip === '' ? null : request.ip,
    userAgent: agentOf(request),
    referrer: request.headers.referer ?? null,
    prefetch: isPrefetch(request),
  }),
  /** The properties that targets match. */
  describe: (request: HttpRequest): LinkVisitor =>
    describeVisitor(describeUserAgent(agentOf(request)), request.ip === '' ? null : countryOf(request.ip)),
  /** Tells visitors apart by address, or network for IPv6, and user agent. It is not stored. */
  fingerprint: (request: HttpRequest): string => `${clientNetworkOf(request.ip)}\n${agentOf(request) ?? ''}`,
  /** Whether it is neither a bot nor a prefetch. An unknown user agent counts as human. */
  isHuman: (request: HttpRequest): boolean =>
    !isPrefetch(request) && !describeUserAgent(agentOf(request)).bot,
})

export type VisitorReader = ReturnType<typeof createVisitorReader>

const agentOf = ({ headers }: HttpRequest): string | null => headers['user-agent'] ?? null

const FETCHES_AHEAD = /prefetch|prerender|preview/i

// Firefox alone has used X-Moz, Safari Purpose: preview; Sec-Purpose is the standard.
const isPrefetch = ({ headers }: HttpRequest): boolean =>
  saysAhead(headers['sec-purpose']) ||
  saysAhead(headers.purpose) ||
  saysAhead(headers['x-moz']) ||
  saysAhead(headers['x-purpose'])

const saysAhead = (purpose: string | string[] | undefined): boolean =>
  typeof purpose === 'string' && FETCHES_AHEAD.test(purpose)
