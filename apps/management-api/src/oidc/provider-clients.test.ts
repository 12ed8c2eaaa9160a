import { AppError } from '@waymark/contracts/app-error'
import { startRawServer } from '@waymark/testing/unit'
import fc from 'fast-check'
import { errors, jwtVerify } from 'jose'
import { describe, expect, it } from 'vitest'
import { createProviderClients, unreachableReason } from './provider-clients.ts'

const NAMES = ['issuer', 'authorization_endpoint', 'token_endpoint', 'jwks_uri', 'userinfo_endpoint'] as const
const values = (origin: string) =>
  fc.oneof(
    fc.constantFrom(origin, `${origin}/keys`, 'javascript:alert(1)', 'https://', '', null, '\ud800'),
    fc.jsonValue({ maxDepth: 2 }),
  )
const jwkNames = fc.constantFrom('kty', 'alg', 'use', 'kid', 'n', 'e', 'crv', 'x', 'y', 'k', 'key_ops', 'x5c')
const jwks = fc.record({
  keys: fc.oneof(
    fc.jsonValue({ maxDepth: 1 }),
    fc.array(
      fc.dictionary(
        jwkNames,
        fc.oneof(fc.constantFrom('RSA', 'EC', 'RS256', 'AQAB'), fc.jsonValue({ maxDepth: 1 })),
      ),
    ),
  ),
})
const TOKEN = `${Buffer.from('{"alg":"RS256"}').toString('base64url')}.e30.AA`

it('accepts or refuses any discovery document and any keys', async () => {
  let metadata: unknown = {}
  let keys: unknown = {}
  let status = 200
  let asked = 0
  const server = await startRawServer(() => {
    const body = Buffer.from(JSON.stringify(asked++ === 0 ? metadata : keys))
    const head = `HTTP/1.1 ${status} x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
    return Buffer.concat([Buffer.from(head), body])
  })
  const issuer = `http://127.0.0.1:${server.port}`
  const right = { issuer, authorization_endpoint: issuer, token_endpoint: issuer, jwks_uri: `${issuer}/keys` }
  const documents = fc.oneof(
    fc.dictionary(fc.constantFrom(...NAMES), values(issuer)).map((wrong) => ({ ...right, ...wrong })),
    fc.jsonValue({ maxDepth: 2 }),
    fc.constant(right),
  )
  const statuses = fc.oneof(fc.constant(200), fc.integer({ min: 200, max: 999 }))
  try {
    await fc.assert(
      fc.asyncProperty(documents, jwks, statuses, async (...given) => {
        ;[metadata, keys, status] = given
        asked = 0
        const clients = createProviderClients({ allowPrivateAddresses: true, timeoutMs: 2_000 })
        const provider = { id: 'p', version: 1, issuer, clientId: 'c', clientSecret: null }
        const problem = await clients.check(provider).catch((error: unknown) => error)
        if (problem !== undefined) {
          expect(problem).toBeInstanceOf(AppError)
          expect(problem).toMatchObject({ code: 'unprocessable' })
          return
        }
        asked = 0
        const client = await clients.clientOf(provider)
        await expect(jwtVerify(TOKEN, client.keys)).rejects.toThrow()
      }),
      { numRuns: 40 },
    )
  } finally {
    await server.close()
  }
})

describe('unreachableReason', () => {
  const withCode = (code: string) =>
    new Error('failed', { cause: Object.assign(new Error('the cause'), { code }) })

  it.each([
    'ECONNREFUSED',
    'EAI_AGAIN',
    'EPROTO',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'ERR_SSL_WRONG_VERSION_NUMBER',
    'CERT_HAS_EXPIRED',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  ])('names the code of a connection: %s', (code) => {
    expect(unreachableReason(withCode(code))).toBe(`the connection failed: ${code}`)
  })

  it('names a timeout', () => {
    expect(unreachableReason(new errors.JWKSTimeout())).toBe('it did not answer in time')
  })

  it.each(['OAUTH_INVALID_RESPONSE', 'ERR_JWKS_NO_MATCHING_KEY', 'ERR_INVALID_URL'])(
    'is undefined for an answer that cannot be used: %s',
    (code) => {
      expect(unreachableReason(withCode(code))).toBeUndefined()
    },
  )
})
