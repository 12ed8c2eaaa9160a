import { AppError } from '@waymark/contracts/app-error'
import type { Prisma } from '@waymark/database'
import { createGuardedRequests, RefusedAddressError, type ResolveHost } from '@waymark/service-kit'
import { createRemoteJWKSet, customFetch as joseFetch } from 'jose'
import { LRUCache } from 'lru-cache'
import {
  allowInsecureRequests,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  type CustomFetch,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  None,
} from 'openid-client'
import { unprocessable } from '../http/validation.ts'

export type OidcProvider = Prisma.OidcProviderGetPayload<object>

/** What is needed to reach a provider. */
export type ProviderAccess = Pick<OidcProvider, 'id' | 'version' | 'issuer' | 'clientId' | 'clientSecret'>

export type ProviderClientOptions = {
  /** Whether providers may have private addresses and be called without TLS. */
  allowPrivateAddresses: boolean
  resolveHost?: ResolveHost
  /** Of each request to a provider, in ms. Default: 5 s. */
  timeoutMs?: number
}

const TIMEOUT_MS = 5_000
const MAX_RESPONSE_BYTES = 512 * 1024
const MAX_CACHED = 500
const CACHE_MS = 10 * 60_000
/** A provider that cannot be reached is not asked again for this long. */
const FAILED_MS = 5_000

type Client = { configuration: Configuration; keys: ReturnType<typeof createRemoteJWKSet> }

/** Reads and caches the configurations and keys of providers. */
export const createProviderClients = ({
  allowPrivateAddresses,
  resolveHost,
  timeoutMs = TIMEOUT_MS,
}: ProviderClientOptions) => {
  const requests = createGuardedRequests({ allowPrivateAddresses, resolveHost, keepAlive: false })
  const clients = new LRUCache<string, Promise<Client>>({ max: MAX_CACHED, ttl: CACHE_MS })

  const fetchGuarded = async (
    url: string,
    { method, headers, body, signal }: Parameters<CustomFetch>[1],
  ): Promise<Response> => {
    requireProtocol(url)
    const message = await requests.send({
      url,
      method: method === 'POST' ? 'POST' : 'GET',
      headers: Object.fromEntries(new Headers(headers)),
      ...(body !== undefined && body !== null && { body: `${body}` }),
      signal: signal ?? AbortSignal.timeout(timeoutMs),
    })
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of message) {
      bytes += chunk.length
      if (bytes > MAX_RESPONSE_BYTES) throw new Error(`the answer is larger than ${MAX_RESPONSE_BYTES} bytes`)
      chunks.push(chunk)
    }
    const status = message.statusCode ?? 502
    const hasBody = status !== 204 && status !== 304
    return new Response(hasBody ? Buffer.concat(chunks) : null, {
      status,
      headers: new Headers(
        Object.entries(message.headersDistinct).map(([name, values]) => [name, `${values}`]),
      ),
    })
  }

  // A provider's metadata may name any address, such as one with the scheme `javascript`.
  const requireProtocol = (url: string | undefined): void => {
    const protocol = URL.parse(url ?? '')?.protocol
    if (protocol === 'https:' || (protocol === 'http:' && allowPrivateAddresses)) return
    throw new Error('the provider names an address that is not https')
  }

  const discover = async ({ issuer, clientId, clientSecret }: ProviderAccess): Promise<Client> => {
    const configuration = await discovery(new URL(issuer), clientId, undefined, authOf(clientSecret), {
      [customFetch]: fetchGuarded,
      timeout: timeoutMs / 1_000,
      execute: [enableNonRepudiationChecks, ...(allowPrivateAddresses ? [allowInsecureRequests] : [])],
    })
    const metadata = configuration.serverMetadata()
    if (URL.parse(metadata.issuer)?.href !== new URL(issuer).href)
      throw new Error('the provider reports another issuer')
    requireProtocol(metadata.authorization_endpoint)
    requireProtocol(metadata.token_endpoint)
    requireProtocol(metadata.jwks_uri)
    const keys = createRemoteJWKSet(new URL(metadata.jwks_uri ?? ''), {
      timeoutDuration: timeoutMs,
      [joseFetch]: (url, options) =>
        fetchGuarded(url, { ...options, headers: Object.fromEntries(options.headers), body: undefined }),
    })
    return { configuration, keys }
  }

  return {
    /** Whether an issuer is an address that a provider may have. */
    isUsableIssuer: (text: string): boolean => {
      const url = URL.parse(text)
      const allowed = url?.protocol === 'https:' || (url?.protocol === 'http:' && allowPrivateAddresses)
      // With such a path the metadata would be read from there, even if it names another issuer.
      const isPlain = !/[?#\s]/.test(text) && !text.includes('/.well-known/')
      return allowed && isPlain && url?.username === '' && url.password === ''
    },

    /**
     * Reads the configuration of a provider that is to be stored.
     * @throws AppError unprocessable when it cannot be read
     */
    check: async (provider: ProviderAccess): Promise<void> => {
      try {
        await discover(provider)
      } catch (error) {
        throw unprocessable('issuer', 'provider', `cannot be used: ${reasonOf(error)}`, provider.issuer)
      }
    },

    /** The client for a stored provider. @throws the error of the request when its configuration cannot be read */
    clientOf: (provider: ProviderAccess): Promise<Client> => {
      const key = `${provider.id} ${provider.version}`
      const known = clients.get(key)
      if (known) return known
      const reading = discover(provider)
      clients.set(key, reading)
      reading.catch(() => clients.set(key, reading, { ttl: FAILED_MS }))
      return reading
    },
  }
}

export type ProviderClients = ReturnType<typeof createProviderClients>

/** 503 while a provider cannot be reached. */
export const providerUnavailable = (error: unknown): AppError =>
  new AppError('overloaded', `The provider cannot be reached: ${reasonOf(error)}`, {
    retryAfterSeconds: Math.ceil(FAILED_MS / 1_000),
  })

// OpenID Connect Discovery: without the list of methods it is client_secret_basic.
const authOf = (clientSecret: string | null): ClientAuth => {
  if (clientSecret === null) return None()
  const [post, basic] = [ClientSecretPost(clientSecret), ClientSecretBasic(clientSecret)]
  return (server, ...rest) => {
    const takesPost = server.token_endpoint_auth_methods_supported?.includes('client_secret_post')
    return (takesPost ? post : basic)(server, ...rest)
  }
}

/** Codes of sockets, name servers and TLS. Those of `jose` and `openid-client` begin with ERR_JW and OAUTH_. */
const CONNECTION_CODES = /^(?!ERR_)E[A-Z_]+$|^ERR_(?:TLS|SSL)_|CERT|^UNABLE_TO_/
const TIMEOUTS = new Set(['TimeoutError', 'AbortError', 'JWKSTimeout'])

/** Why a provider could not be reached, if that is the cause of an error. */
export const unreachableReason = (error: unknown): string | undefined => {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof RefusedAddressError) return cause.message
    if (TIMEOUTS.has(cause.name)) return 'it did not answer in time'
    const { code } = cause as { code?: unknown }
    if (typeof code === 'string' && CONNECTION_CODES.test(code)) return `the connection failed: ${code}`
  }
  return undefined
}

/** A reason without anything that the provider sent. */
export const reasonOf = (error: unknown): string =>
  unreachableReason(error) ??
  'its configuration at /.well-known/openid-configuration is not valid for this issuer'
