import { Resolver } from 'node:dns/promises'
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { isPublicAddress } from '@waymark/domain/webhook'

/** The addresses of a host name. */
export type ResolveHost = (hostname: string) => Promise<readonly string[]>

type GuardOptions = {
  allowPrivateAddresses: boolean
  resolveHost?: ResolveHost | undefined
  /** Whether idle connections are used again. Default: true. */
  keepAlive?: boolean
}

export type GuardedRequest = {
  url: string
  method: 'GET' | 'POST'
  headers: Record<string, string>
  body?: string
  signal: AbortSignal
}

const DNS_TIMEOUT_MS = 3_000
/** Idle connections are closed before most servers close them. */
const IDLE_MS = 4_000
// One text for names that lead to private addresses and names that do not exist: otherwise it would show which names the
// network of the deployment has.
const REFUSED =
  'the host has no public address: its name does not exist or does not resolve now, or has a private, loopback, ' +
  'link-local or reserved address'

/** The host may not be called. */
export class RefusedAddressError extends Error {}

/**
 * Sends requests to hosts that tenants name. A name is resolved once per connection, and the connection goes to one of the
 * addresses that were checked. Redirects are not followed.
 */
export const createGuardedRequests = ({
  allowPrivateAddresses,
  resolveHost = createDnsResolver(),
  keepAlive = true,
}: GuardOptions) => {
  const requireAllowed = (addresses: readonly string[]): void => {
    if (!allowPrivateAddresses && !addresses.every(isPublicAddress)) throw new RefusedAddressError(REFUSED)
  }
  const resolveChecked = async (hostname: string) => {
    const addresses = await resolveHost(hostname).catch((error: unknown) => {
      if (allowPrivateAddresses) throw error
      return []
    })
    if (addresses.length === 0) throw new RefusedAddressError(REFUSED)
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
  const agentOptions = { keepAlive, timeout: IDLE_MS, lookup }
  const agents = { http: new HttpAgent(agentOptions), https: new HttpsAgent(agentOptions) }

  const sendOnce = ({ url: text, method, headers, body, signal }: GuardedRequest) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const url = new URL(text)
      // Node does not look up a host that is an address already.
      const host = url.hostname.replace(/^\[|\]$/g, '')
      if (isIP(host) !== 0) requireAllowed([host])
      const isHttps = url.protocol === 'https:'
      const request = (isHttps ? requestHttps : requestHttp)(url, {
        method,
        agent: isHttps ? agents.https : agents.http,
        headers: { ...headers, ...(body !== undefined && { 'Content-Length': Buffer.byteLength(body) }) },
        signal,
      })
      request.on('response', resolve)
      // All that remains of an answer that switches protocols. After another answer or an error it has no effect.
      request.on('close', () => reject(new Error('the endpoint closed the connection')))
      request.on('error', (error) =>
        reject(
          Object.assign(error, {
            isStale: request.reusedSocket && (error as { code?: unknown }).code === 'ECONNRESET',
          }),
        ),
      )
      request.end(body)
    })

  return {
    /**
     * Sends a request. Resolves when the answer begins.
     * @throws RefusedAddressError for an address that may not be called; the error of the connection; the abort error
     */
    send: (request: GuardedRequest): Promise<IncomingMessage> =>
      sendOnce(request).catch((error) => {
        // The endpoint closed an idle connection at the same moment.
        if (error.isStale) return sendOnce(request)
        throw error
      }),
    /** Closes idle connections. */
    close: async (): Promise<void> => {
      agents.http.destroy()
      agents.https.destroy()
    },
  }
}

export type GuardedRequests = ReturnType<typeof createGuardedRequests>

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
