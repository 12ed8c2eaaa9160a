import { Resolver } from 'node:dns/promises'
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { MAX_WEBHOOK_RESPONSE_BYTES } from '@waymark/contracts'
import { isPublicAddress } from '@waymark/domain'

/** The addresses of a host name. */
export type ResolveHost = (hostname: string) => Promise<readonly string[]>

type HttpPostOptions = {
  allowPrivateAddresses: boolean
  /** From the look-up of the name to the end of the answer, in ms. */
  timeoutMs: number
  resolveHost?: ResolveHost
}

export type OutgoingPost = { url: string; headers: Record<string, string>; body: string }

/** What an endpoint answered, with the beginning of its body, or why it did not. */
export type PostOutcome =
  | { kind: 'answered'; status: number; body: string }
  | { kind: 'unanswered'; error: string }

const DNS_TIMEOUT_MS = 3_000
/** Idle connections are closed before most servers close them. */
const IDLE_MS = 4_000
const REFUSED = 'the host has a private, loopback, link-local or reserved address'

/** The address of an endpoint may not be called. */
class RefusedAddressError extends Error {}

/**
 * Sends requests to endpoints that projects name. A name is resolved once per connection, and the connection goes to one
 * of the addresses that were checked. Redirects are not followed.
 */
export const createHttpPost = ({
  allowPrivateAddresses,
  timeoutMs,
  resolveHost = createDnsResolver(),
}: HttpPostOptions) => {
  const requireAllowed = (addresses: readonly string[]): void => {
    if (!allowPrivateAddresses && !addresses.every(isPublicAddress)) throw new RefusedAddressError(REFUSED)
  }
  const resolveChecked = async (hostname: string) => {
    const addresses = await resolveHost(hostname)
    if (addresses.length === 0) throw new Error('the host name has no address')
    requireAllowed(addresses)
    return addresses.map((address) => ({ address, family: isIP(address) }))
  }
  const lookup: LookupFunction = (hostname, { all }, callback) => {
    resolveChecked(hostname).then(
      (addresses) => {
        const [first] = addresses
        if (all) callback(null, addresses)
        else callback(null, first?.address ?? '', first?.family)
      },
      (error) => callback(error, ''),
    )
  }
  const agentOptions = { keepAlive: true, timeout: IDLE_MS, lookup }
  const agents = { http: new HttpAgent(agentOptions), https: new HttpsAgent(agentOptions) }

  const answerTo = ({ url: text, headers, body }: OutgoingPost, signal: AbortSignal) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const url = new URL(text)
      // Node does not look up a host that is an address already.
      const host = url.hostname.replace(/^\[|\]$/g, '')
      if (isIP(host) !== 0) requireAllowed([host])
      const isHttps = url.protocol === 'https:'
      const request = (isHttps ? requestHttps : requestHttp)(url, {
        method: 'POST',
        agent: isHttps ? agents.https : agents.http,
        headers: { ...headers, 'Content-Length': Buffer.byteLength(body) },
        signal,
      })
      request.on('response', resolve)
      // All that remains of an answer that switches protocols. After another answer or an error it has no effect.
      request.on('close', () => reject(new Error('the endpoint closed the connection')))
      request.on('error', (error) =>
        reject(Object.assign(error, { isStale: request.reusedSocket && errorCode(error) === 'ECONNRESET' })),
      )
      request.end(body)
    })

  const post = async (outgoing: OutgoingPost): Promise<PostOutcome> => {
    const signal = AbortSignal.timeout(timeoutMs)
    try {
      const response = await answerTo(outgoing, signal).catch((error) => {
        // The endpoint closed an idle connection at the same moment.
        if (error.isStale) return answerTo(outgoing, signal)
        throw error
      })
      return { kind: 'answered', status: response.statusCode ?? 0, body: await readStart(response) }
    } catch (error) {
      if (signal.aborted) return { kind: 'unanswered', error: `no answer within ${timeoutMs / 1_000} s` }
      return { kind: 'unanswered', error: reasonOf(error) }
    }
  }

  return {
    /** Sends a request once. Never rejects. */
    post,
    /** Closes idle connections. */
    close: async (): Promise<void> => {
      agents.http.destroy()
      agents.https.destroy()
    },
  }
}

export type HttpPost = ReturnType<typeof createHttpPost>

/** Resolves by DNS. Unlike `dns.lookup` it does not occupy a thread of the process while a name server is silent. */
const createDnsResolver = (): ResolveHost => {
  const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: 2 })
  return async (hostname) => {
    if (hostname === 'localhost') return ['127.0.0.1']
    const found = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    const addresses = found.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
    const [failed] = found.filter((result) => result.status === 'rejected')
    if (addresses.length === 0 && failed) throw failed.reason
    return addresses
  }
}

/** The first bytes of a body as text. An answer that breaks off, or does not end in time, counts as far as it came. */
const readStart = async (response: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of response) {
      chunks.push(chunk)
      bytes += chunk.length
      // Ends the connection, so that an endless body is not read.
      if (bytes > MAX_WEBHOOK_RESPONSE_BYTES) break
    }
  } catch {}
  const start = Buffer.concat(chunks).subarray(0, MAX_WEBHOOK_RESPONSE_BYTES)
  // As a stream, so that a character that is cut in two is left out. PostgreSQL refuses U+0000.
  return new TextDecoder().decode(start, { stream: true }).replaceAll('\0', '\uFFFD')
}

const errorCode = (error: unknown): unknown => (error as { code?: unknown }).code

const reasonOf = (error: unknown): string => {
  if (error instanceof RefusedAddressError) return error.message
  const code = errorCode(error)
  return typeof code === 'string' ? `the connection failed: ${code}` : 'the connection failed'
}
