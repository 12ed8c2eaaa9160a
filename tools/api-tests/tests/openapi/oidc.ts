import { generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { createServer } from 'node:http'
import {
  createOidcProvider,
  createTenantDomain,
  deleteOidcProvider,
  deleteTenantDomain,
  endOidcSessions,
  findOidcProviders,
  finishOidcSignIn,
  getSignInPolicy,
  linkIdentity,
  listIdentities,
  listOidcProviders,
  listTenantDomains,
  reauthenticateWithProvider,
  startOidcSignIn,
  unlinkIdentity,
  updateOidcProvider,
  updateSignInPolicy,
  verifyTenantDomain,
} from '@waymark/contracts/http/oidc'
import type { Operation } from '@waymark/contracts/http/operation'
import { byAccessToken } from './accounts.ts'
import { asOwner, type Example, stringIn } from './example.ts'
import type { Call, World } from './world.ts'

let issuer: Promise<string> | undefined
const keys = generateKeyPairSync('rsa', { modulusLength: 2048 })
const publicJwk = { ...keys.publicKey.export({ format: 'jwk' }), kid: 'test', alg: 'RS256', use: 'sig' }

/** The address of a server that answers with the metadata and the key of a provider. */
const metadataServer = (): Promise<string> => {
  issuer ??= new Promise((resolve) => {
    const server = createServer(({ url }, response) => {
      const { port } = server.address() as { port: number }
      const own = `http://localhost:${port}`
      response.setHeader('Content-Type', 'application/json')
      response.end(
        JSON.stringify(
          url === '/keys'
            ? { keys: [publicJwk] }
            : {
                issuer: own,
                authorization_endpoint: `${own}/authorize`,
                token_endpoint: `${own}/token`,
                jwks_uri: `${own}/keys`,
                response_types_supported: ['code'],
                subject_types_supported: ['public'],
                id_token_signing_alg_values_supported: ['RS256'],
              },
        ),
      )
    })
    server.unref()
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      resolve(`http://localhost:${port}`)
    })
  })
  return issuer
}

const newProvider = async () => ({ name: 'Company', issuer: await metadataServer(), clientId: 'waymark' })

const aProvider = async (world: World): Promise<Call & { id: string }> => {
  const call = await asOwner(world)
  const { body } = await world.call(createOidcProvider, { ...call, body: await newProvider() })
  const id = stringIn(body, 'id')
  return { ...call, params: { ...call.params, id }, id }
}

const aDomain = async (world: World): Promise<Call> => {
  const call = await asOwner(world)
  const { body } = await world.call(createTenantDomain, {
    ...call,
    body: { domain: `${randomUUID()}.example` },
  })
  return { ...call, params: { ...call.params, id: stringIn(body, 'id') } }
}

const ofMissingTenant = async (world: World, body?: object): Promise<Call> =>
  asOwner(world, { query: { tenantId: randomUUID() }, ...(body && { body }) })

const logoutToken = async (subject: string): Promise<string> => {
  const now = Math.floor(Date.now() / 1_000)
  const payload = {
    iss: await metadataServer(),
    aud: 'waymark',
    iat: now,
    exp: now + 60,
    jti: randomUUID(),
    sub: subject,
    events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
  }
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const text = `${encode({ alg: 'RS256', kid: 'test' })}.${encode(payload)}`
  return `${text}.${sign('sha256', Buffer.from(text), keys.privateKey).toString('base64url')}`
}

const form = (token: string): Call => ({
  key: null,
  body: `logout_token=${token}`,
  headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
})

/** A call that was made as often as is allowed. */
const exhausted = async (world: World, operation: Operation, call: Call, times: number): Promise<Call> => {
  await world.countUses(times, () => world.call(operation, call))
  return call
}

/** Queries of the `tenantId` that no tenant can have. */
const unknownTenant = (world: World, body?: object) =>
  asOwner(world, { query: { tenantId: 'unknown' }, ...(body && { body }) })

export const oidcExamples: Example[] = [
  {
    operation: findOidcProviders,
    good: () => ({ key: null, query: { domain: 'shop.example' } }),
    others: { 422: () => ({ key: null }) },
  },
  {
    operation: startOidcSignIn,
    good: async (world) => ({ key: null, body: { providerId: (await aProvider(world)).id } }),
    others: { 404: () => ({ key: null, body: { providerId: randomUUID() } }) },
  },
  {
    operation: finishOidcSignIn,
    good: () => ({ key: null, params: { id: randomUUID() }, query: { code: 'x', state: 'y' } }),
    others: { 400: () => ({ key: null, headers: { 'X-Config-Version': 'unknown' } }) },
  },
  {
    operation: reauthenticateWithProvider,
    good: async (world) => {
      const { headers, userId, sessionId } = await world.signIn()
      await world.identity((await aProvider(world)).id, userId, sessionId)
      return { key: null, headers }
    },
    others: { 403: byAccessToken, 422: (world) => asOwner(world) },
  },
  {
    operation: endOidcSessions,
    good: async (world) => {
      const { id } = await aProvider(world)
      return { ...form(await logoutToken('1')), params: { id } }
    },
    others: {
      400: () => ({ ...form('unknown'), params: { id: randomUUID() } }),
      429: (world) => exhausted(world, endOidcSessions, form('unknown'), 600),
    },
  },
  { operation: listIdentities, good: (world) => asOwner(world), others: { 403: byAccessToken } },
  {
    operation: linkIdentity,
    good: async (world) => {
      const { id, headers } = await aProvider(world)
      return { key: null, ...(headers && { headers }), body: { providerId: id } }
    },
    others: { 404: (world) => asOwner(world, { body: { providerId: randomUUID() } }) },
  },
  {
    operation: unlinkIdentity,
    good: async (world) => {
      const { headers, userId } = await world.signIn()
      const { id } = await aProvider(world)
      return { key: null, headers, params: { id: await world.identity(id, userId) } }
    },
    others: { 404: (world) => asOwner(world, { params: { id: randomUUID() } }) },
  },
  {
    operation: createOidcProvider,
    good: async (world) => asOwner(world, { body: await newProvider() }),
    others: {
      404: async (world) => ofMissingTenant(world, await newProvider()),
      // Without a provider at the address, so that each attempt fails soon.
      429: async (world) =>
        exhausted(
          world,
          createOidcProvider,
          await asOwner(world, { body: { ...(await newProvider()), issuer: 'http://localhost:9' } }),
          60,
        ),
    },
  },
  {
    operation: listOidcProviders,
    good: (world) => asOwner(world),
    others: {
      403: byAccessToken,
      404: (world) => ofMissingTenant(world),
      422: (world) => unknownTenant(world),
    },
  },
  {
    operation: updateOidcProvider,
    good: async (world) => ({ ...(await aProvider(world)), body: { name: 'Renamed' } }),
    others: { 404: (world) => ofMissingTenant(world, { name: 'Renamed' }) },
  },
  {
    operation: deleteOidcProvider,
    good: aProvider,
    others: { 404: (world) => ofMissingTenant(world), 422: (world) => unknownTenant(world) },
  },
  {
    operation: createTenantDomain,
    good: (world) => asOwner(world, { body: { domain: `${randomUUID()}.example` } }),
    others: { 404: (world) => ofMissingTenant(world, { domain: 'shop.example' }) },
  },
  {
    operation: listTenantDomains,
    good: (world) => asOwner(world),
    others: {
      403: byAccessToken,
      404: (world) => ofMissingTenant(world),
      422: (world) => unknownTenant(world),
    },
  },
  {
    operation: verifyTenantDomain,
    good: async (world) => {
      const call = await asOwner(world)
      const { body } = await world.call(createTenantDomain, {
        ...call,
        body: { domain: `${randomUUID()}.example` },
      })
      world.txtRecords.set(stringIn(body, 'recordName'), stringIn(body, 'recordValue'))
      return { ...call, params: { ...call.params, id: stringIn(body, 'id') } }
    },
    others: {
      404: (world) => ofMissingTenant(world),
      422: aDomain,
      429: async (world) => exhausted(world, verifyTenantDomain, await aDomain(world), 60),
    },
  },
  {
    operation: deleteTenantDomain,
    good: aDomain,
    others: { 404: (world) => ofMissingTenant(world), 422: (world) => unknownTenant(world) },
  },
  {
    operation: getSignInPolicy,
    good: (world) => asOwner(world),
    others: {
      403: byAccessToken,
      404: (world) => ofMissingTenant(world),
      422: (world) => unknownTenant(world),
    },
  },
  {
    operation: updateSignInPolicy,
    good: (world) => asOwner(world, { body: { oidcOnly: false } }),
    others: { 404: (world) => ofMissingTenant(world, { oidcOnly: false }) },
  },
]
