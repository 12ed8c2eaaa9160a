/// <reference path="./oidc-provider-types.d.ts" />
import { createServer, type RequestListener, type Server } from 'node:http'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import Provider from 'oidc-provider'

export const CLIENT_ID = 'waymark'
export const CLIENT_SECRET = 'a secret that only the provider knows'

/** A user of a provider. */
export type ProviderAccount = {
  email?: string
  email_verified?: boolean | string
  name?: string
  groups?: string[]
}

/** A real OpenID Connect provider in this process. */
export type TestProvider = {
  issuer: string
  accounts: Map<string, ProviderAccount>
  /** The account that signs in next, by its `sub`; null refuses. */
  signsIn: string | null
  /** Sends a log-out token to the address that `logoutUri` names. */
  logOut(subject: string, sessionId: string): Promise<void>
  logoutUri: string
  /** The requests so far, as method and path. */
  requests: string[]
  /** A token that the provider signs. */
  sign(payload: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>
  /** Whether requests are answered. */
  hangs: boolean
  stop(): Promise<void>
}

/** Starts a server on a free port. */
export const listen = async (handler: RequestListener): Promise<{ server: Server; url: string }> => {
  const server = createServer(handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return { server, url: `http://localhost:${port}` }
}

const SCOPES = 'openid email profile groups'

type Context = {
  oidc: {
    provider: { Grant: new (of: object) => { addOIDCScope(scope: string): void; save(): Promise<void> } }
    client: { clientId: string }
    session: { accountId: string }
  }
}

/** Starts a provider that signs its users in without a page, and that has one client. */
export const startProvider = async (): Promise<TestProvider> => {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const key = { ...(await exportJWK(privateKey)), kid: 'test', alg: 'RS256', use: 'sig' }
  let callback: RequestListener = (_request, response) => response.end()
  const accounts = new Map<string, ProviderAccount>()
  const self: TestProvider = {
    issuer: '',
    accounts,
    signsIn: null,
    logoutUri: '',
    requests: [],
    hangs: false,
    logOut: async () => {},
    sign: (payload, header = {}) =>
      new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid: 'test', ...header }).sign(privateKey),
    stop: async () => {},
  }

  const { server, url } = await listen(async (request, response) => {
    const path = request.url ?? ''
    self.requests.push(`${request.method} ${path.split('?')[0]}`)
    if (self.hangs) return
    if (path.startsWith('/interaction/')) {
      const result =
        self.signsIn === null
          ? { error: 'access_denied', error_description: 'The user said no' }
          : { login: { accountId: self.signsIn } }
      await provider.interactionFinished(request, response, result)
    } else if (path === '/relay-logout') {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      const { status } = await fetch(self.logoutUri, {
        method: 'POST',
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        body: Buffer.concat(chunks).toString(),
      })
      response.writeHead(status).end()
    } else callback(request, response)
  })
  self.issuer = url

  const provider = new Provider(url, {
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        redirect_uris: ['http://localhost/unused'],
        backchannel_logout_uri: `${url}/relay-logout`,
        backchannel_logout_session_required: true,
        require_auth_time: true,
      },
    ],
    jwks: { keys: [key] },
    cookies: { keys: ['a key of this test'] },
    pkce: { required: () => true },
    scopes: ['openid', 'email', 'profile', 'groups'],
    claims: {
      openid: ['sub', 'sid'],
      email: ['email', 'email_verified'],
      profile: ['name'],
      groups: ['groups'],
    },
    features: { devInteractions: { enabled: false }, backchannelLogout: { enabled: true } },
    // Its own one refuses addresses of this machine.
    fetch: (address: string, { method, headers, body }: RequestInit) =>
      fetch(address, { ...(method && { method }), ...(headers && { headers }), ...(body && { body }) }),
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, ...accounts.get(id) }),
    }),
    // Consents without a page.
    loadExistingGrant: async ({ oidc }: Context) => {
      const grant = new oidc.provider.Grant({
        clientId: oidc.client.clientId,
        accountId: oidc.session.accountId,
      })
      grant.addOIDCScope(SCOPES)
      await grant.save()
      return grant
    },
  })
  // The address contains an id that Waymark makes later.
  provider.Client.prototype.redirectUriAllowed = () => true
  callback = provider.callback()
  self.logOut = async (subject, sessionId) =>
    (await provider.Client.find(CLIENT_ID)).backchannelLogout(subject, sessionId)
  self.stop = async () => {
    server.closeAllConnections()
    server.close()
  }
  return self
}

/** A browser with a cookie jar for each host. */
export const createJar = () => {
  const cookies = new Map<string, Map<string, string>>()
  const jarOf = (url: string): Map<string, string> => {
    const { host } = new URL(url)
    const jar = cookies.get(host) ?? new Map<string, string>()
    cookies.set(host, jar)
    return jar
  }
  const request = async (url: string, init: RequestInit = {}): Promise<Response> => {
    const jar = jarOf(url)
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, {
      redirect: 'manual',
      ...init,
      headers: { ...(cookie && { Cookie: cookie }), ...init.headers },
    })
    for (const set of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (set.split(';', 1)[0] ?? '').split(/=(.*)/s)
      const expired = /expires=Thu, 01 Jan 1970/i.test(set)
      if (expired || value === '') jar.delete(name)
      else jar.set(name, value)
    }
    return response
  }
  return {
    cookies: (url: string) => jarOf(url),
    request,
    /** Follows redirects until `isEnd` accepts an address, which is not opened. */
    follow: async (url: string, isEnd: (url: string) => boolean): Promise<string> => {
      let at = url
      for (let step = 0; step < 10; step += 1) {
        if (isEnd(at)) return at
        const response = await request(at)
        const location = response.headers.get('Location')
        if (location === null) throw new Error(`${at} answered ${response.status}: ${await response.text()}`)
        at = new URL(location, at).href
      }
      throw new Error(`too many redirects, the last one to ${at}`)
    },
  }
}

export type Jar = ReturnType<typeof createJar>
