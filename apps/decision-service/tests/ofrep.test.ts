import { randomUUID } from 'node:crypto'
import { OFREPProvider } from '@openfeature/ofrep-provider'
import { OFREPWebProvider } from '@openfeature/ofrep-web-provider'
import { OpenFeature as Server } from '@openfeature/server-sdk'
import { type Provider, OpenFeature as Web } from '@openfeature/web-sdk'
import { type Constellation, eventually, startStandalone } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

type Json = { [field: string]: unknown }

const SINGLE = '/ofrep/v1/evaluate/flags/'
const BULK = '/ofrep/v1/evaluate/flags'

describe('OFREP', () => {
  let waymark: Constellation
  let baseUrl: string

  const post = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
    const response = await waymark.request(path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    const text = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      body: text === '' ? null : (JSON.parse(text) as Json),
    }
  }
  const create = async (key: string, value: unknown, other: unknown, more: Json = {}) => {
    const { status } = await post(`/api/projects/${waymark.projectId}/decisions`, {
      key,
      status: 'active',
      variants: [
        { key: 'off', value: other },
        { key: 'on', value },
      ],
      fallbackVariant: 'off',
      rules: [{ condition: { '==': [{ var: 'context.plan' }, 'pro'] }, variant: 'on' }],
      ...more,
    })
    expect(status).toBe(201)
  }
  const split = {
    rules: [
      {
        split: [
          { variant: 'off', weight: 1 },
          { variant: 'on', weight: 1 },
        ],
      },
    ],
  }

  beforeAll(async () => {
    waymark = await startStandalone()
    await create('a-boolean', true, false)
    await create('a-string', 'red', 'blue')
    await create('a-number', 1.5, 0)
    await create('an-object', { size: [1, 2] }, {})
    await create('a-split', 'new', 'old', split)
    await create('a-null', null, null)
    await create('capped', true, false, { frequencyCap: { count: 1, windowSeconds: 600 } })
    await create('paused', true, false, { status: 'paused' })
    await create('a-draft', true, false, { status: 'draft' })
    // The constellation does not expose its port; the URL of a response contains it.
    baseUrl = new URL((await waymark.request('/healthz')).url).origin
    await eventually(
      'all of them are known',
      // It was created after the others.
      async () => (await post(`${SINGLE}paused`, { context: { targetingKey: 'v' } })).status === 200,
    )
  })
  afterAll(async () => {
    await Promise.all([Server.close(), Web.close()])
    await waymark?.stop()
  })

  it.each([
    ['X-API-Key', (key: string): [string, string] => ['X-API-Key', key]],
    ['Bearer', (key: string): [string, string] => ['Authorization', `Bearer ${key}`]],
  ])('serves the server SDK through its provider, with the key by %s', async (how, header) => {
    const provider = new OFREPProvider({ baseUrl, headers: [header(waymark.apiKey)] })
    await Server.setProviderAndWait(how, provider)
    const client = Server.getClient(how)
    const pro = { targetingKey: 'visitor-1', plan: 'pro' }
    expect(await client.getBooleanDetails('a-boolean', false, pro)).toMatchObject({
      value: true,
      variant: 'on',
      reason: 'TARGETING_MATCH',
    })
    expect(await client.getBooleanDetails('a-boolean', true, { targetingKey: 'visitor-1' })).toMatchObject({
      value: false,
      variant: 'off',
      reason: 'DEFAULT',
    })
    expect(await client.getStringValue('a-string', '', pro)).toBe('red')
    expect(await client.getNumberValue('a-number', 7, pro)).toBe(1.5)
    expect(await client.getObjectValue('an-object', {}, pro)).toEqual({ size: [1, 2] })
    expect(await client.getStringDetails('a-split', '', pro)).toMatchObject({ reason: 'SPLIT' })
    expect(await client.getBooleanDetails('paused', true, pro)).toMatchObject({
      value: false,
      reason: 'DISABLED',
    })
  })

  it('returns the protocol’s error codes to the server SDK', async () => {
    const headers: [string, string][] = [['X-API-Key', waymark.apiKey]]
    await Server.setProviderAndWait('errors', new OFREPProvider({ baseUrl, headers }))
    const client = Server.getClient('errors')
    expect(await client.getBooleanDetails('nobody-knows', true, { targetingKey: 'v' })).toMatchObject({
      value: true,
      reason: 'ERROR',
      errorCode: 'FLAG_NOT_FOUND',
    })
    expect(await client.getBooleanDetails('a-boolean', true, {})).toMatchObject({
      value: true,
      errorCode: 'TARGETING_KEY_MISSING',
    })
    expect(await client.getStringDetails('a-boolean', 'code', { targetingKey: 'v' })).toMatchObject({
      value: 'code',
      errorCode: 'TYPE_MISMATCH',
    })
    const nobody = new OFREPProvider({ baseUrl, headers: [['X-API-Key', 'wm_sec_nonsense']] })
    await Server.setProviderAndWait('nobody', nobody)
    expect(await Server.getClient('nobody').getBooleanDetails('a-boolean', true, {})).toMatchObject({
      value: true,
      reason: 'ERROR',
    })
  })

  it('serves the web SDK through its provider, which answers from one fetch', async () => {
    const key = `web-${randomUUID()}`
    const provider = new OFREPWebProvider({
      baseUrl,
      headers: [['X-API-Key', waymark.apiKey]],
      pollInterval: 0,
      cacheMode: 'disabled',
    })
    // Its optional fields allow undefined, which the SDK's type does not.
    await Web.setProviderAndWait(key, provider as Provider, { targetingKey: 'visitor-1', plan: 'pro' })
    const client = Web.getClient(key)
    expect(client.getBooleanDetails('a-boolean', false)).toMatchObject({ value: true, variant: 'on' })
    expect(client.getStringValue('a-string', '')).toBe('red')
    expect(client.getNumberValue('a-number', 7)).toBe(1.5)
    expect(client.getObjectValue('an-object', {})).toEqual({ size: [1, 2] })
    expect(client.getBooleanDetails('paused', true)).toMatchObject({ value: false, reason: 'DISABLED' })
    expect(client.getBooleanDetails('a-draft', true)).toMatchObject({
      value: true,
      errorCode: 'FLAG_NOT_FOUND',
    })
    await Web.setContext(key, { targetingKey: 'visitor-1', plan: 'free' })
    expect(client.getBooleanValue('a-boolean', true)).toBe(false)
  })

  it('returns no value for null, so that the client uses its default', async () => {
    const { body } = await post(`${SINGLE}a-null`, { context: { targetingKey: 'v' } })
    expect(body).toMatchObject({ key: 'a-null', variant: 'off', reason: 'DEFAULT' })
    expect(body).not.toHaveProperty('value')

    const headers: [string, string][] = [['X-API-Key', waymark.apiKey]]
    await Server.setProviderAndWait('null', new OFREPProvider({ baseUrl, headers }))
    expect(await Server.getClient('null').getStringValue('a-null', 'code', { targetingKey: 'v' })).toBe(
      'code',
    )
    const provider = new OFREPWebProvider({ baseUrl, headers, pollInterval: 0, cacheMode: 'disabled' })
    await Web.setProviderAndWait('null', provider as Provider, { targetingKey: 'v' })
    const details = Web.getClient('null').getStringDetails('a-null', 'code')
    expect(details).toMatchObject({ value: 'code', variant: 'off', reason: 'DEFAULT' })
    expect(details.errorCode).toBeUndefined()
  })

  it('answers 304 for a known ETag, and 200 after a change', async () => {
    const context = { targetingKey: `v-${randomUUID()}` }
    const first = await post(BULK, { context })
    const etag = first.headers.get('ETag') ?? ''
    expect(etag).toMatch(/^"[\w-]+"$/)
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`]) {
      const again = await post(BULK, { context }, { 'If-None-Match': known })
      expect(again).toMatchObject({ status: 304, body: null })
      expect(again.headers.get('ETag')).toBe(etag)
    }
    const pro = await post(BULK, { context: { ...context, plan: 'pro' } }, { 'If-None-Match': etag })
    expect(pro.status).toBe(200)
    expect(pro.headers.get('ETag')).not.toBe(etag)
  })

  it('counts caps only for single evaluations', async () => {
    const context = { targetingKey: `v-${randomUUID()}`, plan: 'pro' }
    const single = async () => (await post(`${SINGLE}capped`, { context })).body?.reason
    for (let n = 0; n < 3; n++) expect((await post(BULK, { context })).status).toBe(200)
    expect(await single()).toBe('TARGETING_MATCH')
    expect(await single()).toBe('CAPPED')
    expect((await post(BULK, { context })).body?.flags).toContainEqual(
      expect.objectContaining({ key: 'capped', reason: 'TARGETING_MATCH' }),
    )
  })

  it.each([
    ['not JSON', '{', 400, 'PARSE_ERROR'],
    ['empty', '', 400, 'PARSE_ERROR'],
    ['no object', '[]', 400, 'PARSE_ERROR'],
    ['a context that is none', '{"context":7}', 400, 'INVALID_CONTEXT'],
    ['no targeting key', '{"context":{}}', 400, 'TARGETING_KEY_MISSING'],
    ['no context', '{}', 400, 'TARGETING_KEY_MISSING'],
    ['a key of a wrong type', '{"context":{"targetingKey":7}}', 400, 'INVALID_CONTEXT'],
    [
      'a key of 201 characters',
      JSON.stringify({ context: { targetingKey: 'x'.repeat(201) } }),
      400,
      'INVALID_CONTEXT',
    ],
    [
      'a key of 200 characters',
      JSON.stringify({ context: { targetingKey: 'x'.repeat(200) } }),
      200,
      undefined,
    ],
    ['a user in place of a targeting key', '{"context":{"userId":"u"}}', 200, undefined],
  ])('answers %s', async (_what, body, status, errorCode) => {
    const single = await post(`${SINGLE}a-boolean`, body)
    expect(single.status).toBe(status)
    expect(single.body?.errorCode).toBe(errorCode)
    if (errorCode !== undefined) expect(single.body?.errorDetails).toEqual(expect.any(String))
    const bulk = await post(BULK, body)
    expect(bulk.status).toBe(status)
    expect(bulk.body?.errorCode).toBe(errorCode)
  })

  // Version 0.3 of the protocol adds query parameters for change events; its schemas are open for more.
  it('ignores unknown members and query parameters', async () => {
    const body = { context: { targetingKey: 'v' }, flags: ['a-boolean'], extension: { cursor: 7 } }
    const query = '?flagConfigEtag=abc&flagConfigLastModified=1700000000&trace=1'
    for (const path of [`${SINGLE}a-boolean`, BULK]) {
      const plain = await post(path, { context: body.context })
      expect(plain.status).toBe(200)
      const extended = await post(`${path}${query}`, body)
      expect([extended.status, extended.body]).toEqual([plain.status, plain.body])
    }
  })

  it('does not serve drafts, individually or in bulk', async () => {
    const context = { targetingKey: 'v' }
    const single = await post(`${SINGLE}a-draft`, { context })
    expect(single).toMatchObject({ status: 404, body: { errorCode: 'FLAG_NOT_FOUND', key: 'a-draft' } })
    const { flags } = (await post(BULK, { context })).body as { flags: { key: string }[] }
    expect(flags.map(({ key }) => key)).not.toContain('a-draft')
  })

  it.each([
    ['an unknown path', '/ofrep/v1/unknown', {}, 404],
    ['a key that is none', BULK, { 'X-API-Key': 'nonsense' }, 401],
    ['a body of another type', BULK, { 'Content-Type': 'text/plain' }, 415],
  ])('answers %s with an errorCode', async (_what, path, headers, status) => {
    expect(await post(path, {}, headers)).toMatchObject({
      status,
      body: { error: expect.any(String), errorCode: 'GENERAL', errorDetails: expect.any(String) },
    })
  })

  it("allows pages of the key's origins", async () => {
    const preflight = await fetch(`${baseUrl}${BULK}`, {
      method: 'OPTIONS',
      headers: { Origin: 'https://shop.example', 'Access-Control-Request-Method': 'POST' },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('Access-Control-Allow-Headers')).toMatch(/Authorization.*If-None-Match/)
    const { headers } = await post(
      BULK,
      { context: { targetingKey: 'v' } },
      { Origin: 'https://shop.example' },
    )
    expect(headers.get('Access-Control-Allow-Origin')).toBe('https://shop.example')
    expect(headers.get('Access-Control-Expose-Headers')).toContain('ETag')
  })
})
