import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:http2'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { FlagdProvider } from '@openfeature/flagd-provider'
import { type Hook, OpenFeature, ProviderEvents } from '@openfeature/server-sdk'
import { eventually, freePort, startStandalone, startTcpProxy } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { lengthDelimited, messageFrame } from '../src/grpc-messages.ts'

type Json = { [field: string]: unknown }
type ExposureHook = new (options: { baseUrl: string; key: string }) => Hook & { close: () => Promise<void> }

/** The hook of the documentation. */
const loadHook = async (): Promise<ExposureHook> => {
  const text = await readFile(path.join(import.meta.dirname, '../../../docs/local-evaluation.md'), 'utf8')
  const folder = await mkdtemp(path.join(tmpdir(), 'waymark-hook-'))
  try {
    const file = path.join(folder, 'exposure-hook.ts')
    await writeFile(file, /```ts\n([\s\S]*?)```/.exec(text)?.[1] ?? '')
    return ((await import(/* @vite-ignore */ pathToFileURL(file).href)) as { ExposureHook: ExposureHook })
      .ExposureHook
  } finally {
    await rm(folder, { recursive: true })
  }
}

const variants = [
  { key: 'off', value: false },
  { key: 'on', value: true },
]
const half = [
  { variant: 'off', weight: 1 },
  { variant: 'on', weight: 1 },
]

describe('local evaluation', () => {
  let waymark: Awaited<ReturnType<typeof startStandalone>>
  let syncPort: number

  const post = async (path: string, body: unknown) => {
    const response = await waymark.request(path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
    return { status: response.status, body: (await response.json()) as Json }
  }
  const create = async (key: string, more: Json): Promise<Json> => {
    // With a salt and ids of rules, so that people get the same in each run.
    const parts = { key, status: 'active', variants, fallbackVariant: 'off', salt: 'salt', ...more }
    const { status, body } = await post(`/api/projects/${waymark.projectId}/decisions`, parts)
    expect({ status, body }).toMatchObject({ status: 201 })
    return body
  }
  const decide = async (ids: Json, keys: string[], context: Json = {}) => {
    const { body } = await post('/api/v1/decide', { ...ids, keys, context })
    return (body.decisions as { variant: string }[]).map(({ variant }) => variant)
  }

  beforeAll(async () => {
    syncPort = await freePort()
    waymark = await startStandalone({
      FLAG_SYNC_PORT: `${syncPort}`,
      LIMIT_DECIDE_PER_MINUTE: '1000000',
    })
  })
  afterAll(async () => {
    await OpenFeature.close()
    await waymark?.stop()
  })

  const keyWith = async (more: Json): Promise<string> => {
    const parts = { name: 'flags', kind: 'sec', scopes: ['decide'], ...more }
    const { body } = await post(`/api/projects/${waymark.projectId}/api-keys`, parts)
    return String(body.key)
  }
  /** A client of an unmodified provider, with settings that reconnect soon. */
  const clientFor = async (domain: string, port = syncPort) => {
    const provider = new FlagdProvider({
      resolverType: 'in-process',
      host: '127.0.0.1',
      port,
      selector: waymark.apiKey,
      deadlineMs: 60_000,
      streamDeadlineMs: 0,
      retryBackoffMaxMs: 100,
    })
    await OpenFeature.setProviderAndWait(domain, provider)
    return OpenFeature.getClient(domain)
  }

  it('is possible for a decision that says so, and else it says why not', async () => {
    const rules = [{ id: 'half', split: half }]
    expect(await create('local', { bucketing: 'flagd', rules })).toMatchObject({
      bucketing: 'flagd',
      local: true,
      notLocal: [],
    })
    const staging = { rules: [{ id: 'loyal', condition: { var: 'traits.loyal' }, variant: 'on' }] }
    expect(await create('not-local', { rules, environments: { staging } })).toMatchObject({
      local: false,
      notLocal: [
        { environment: 'production', ruleId: 'half', code: 'bucketing' },
        { environment: 'staging', ruleId: 'loyal', code: 'traits' },
      ],
    })
  })

  it('divides people by the id that is sent, whoever they are', async () => {
    await create('by-id', { bucketing: 'flagd', rules: [{ id: 'half', split: half }] })
    await eventually('it is known', async () => (await decide({ visitorId: 'v' }, ['by-id']))[0] !== null)
    const visitors = Array.from({ length: 8 }, (_, n) => `visitor-${n}`)
    const before = await Promise.all(visitors.map((visitorId) => decide({ visitorId }, ['by-id'])))
    expect(new Set(before.flat())).toEqual(new Set(['off', 'on']))
    for (const visitorId of visitors)
      expect((await post('/api/v1/identify', { visitorId, userId: 'one-user' })).status).toBeLessThan(300)
    const after = await Promise.all(
      visitors.map((visitorId) => decide({ visitorId, userId: 'one-user' }, ['by-id'])),
    )
    expect(after).toEqual(before)
    const users = await Promise.all(visitors.map((visitorId) => decide({ userId: visitorId }, ['by-id'])))
    expect(users).toEqual(before)
  })

  it('gives the same in a provider for Node as `/api/v1/decide`', async () => {
    const condition = {
      and: [{ '==': [{ var: 'context.plan' }, 'pro'] }, { '>=': [{ var: 'context.age' }, 18] }],
    }
    const rules = [
      { id: 'first', condition, rollout: 50, variant: 'on' },
      { id: 'second', condition: { in: [{ var: 'context.plan' }, ['free', 'pro']] }, split: half },
    ]
    await create('same', { bucketing: 'flagd', holdout: 10, rules })
    const client = await clientFor('same')
    await eventually(
      'it is known',
      async () => (await client.getBooleanDetails('same', false)).variant !== undefined,
    )
    const variantsSeen = new Set<string>()
    for (let n = 0; n < 60; n++) {
      const targetingKey = `visitor-${n} ä`
      const context = {
        ...(n % 4 > 0 && { plan: ['free', 'pro', 5][n % 3] ?? '' }),
        ...(n % 5 > 0 && { age: n }),
      }
      const { variant, value } = await client.getBooleanDetails('same', false, { targetingKey, ...context })
      expect([variant]).toEqual(await decide({ visitorId: targetingKey }, ['same'], context))
      expect(value).toBe(variant === 'on')
      variantsSeen.add(`${variant}`)
    }
    expect([...variantsSeen].sort()).toEqual(['off', 'on'])
  })

  it('hears of a change, goes on without Waymark, and hears of what changed meanwhile', async () => {
    const path = `/api/projects/${waymark.projectId}/decisions/changed`
    const change = (fallbackVariant: string) =>
      waymark.request(path, {
        method: 'PATCH',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ fallbackVariant }),
      })
    await create('changed', { rules: [] })
    const proxy = await startTcpProxy(`http://127.0.0.1:${syncPort}`)
    onTestFinished(() => proxy.stop())
    const client = await clientFor('changed', proxy.port)
    const heard: string[] = []
    client.addHandler(ProviderEvents.ConfigurationChanged, (details) => {
      heard.push(...(details?.flagsChanged ?? []))
    })
    const is = (variant: string) =>
      eventually(variant, async () => (await client.getBooleanDetails('changed', false)).variant === variant)
    await is('off')
    await change('on')
    await is('on')
    await eventually('the provider says so', async () => heard.includes('changed'))
    await proxy.cut()
    await eventually('it is cut off', async () => client.providerStatus !== 'READY')
    expect(await client.getBooleanDetails('changed', false)).toMatchObject({ value: true, variant: 'on' })
    await change('off')
    await proxy.restore()
    await is('off')
  })

  it('reports exposures by the hook of the documentation, with the reasons of `/api/v1/decide`', async () => {
    const condition = { '==': [{ var: 'context.plan' }, 'pro'] }
    await create('seen', {
      bucketing: 'flagd',
      holdout: 20,
      rules: [{ id: 'some', condition, rollout: 60, split: half }],
    })
    const client = await clientFor('seen')
    await eventually(
      'it is known',
      async () => (await client.getBooleanDetails('seen', false)).variant !== undefined,
    )
    const Hook = await loadHook()
    const baseUrl = `http://127.0.0.1:${waymark.port}`
    const hook = new Hook({ baseUrl, key: waymark.apiKey })
    client.addHooks(hook)
    const expected: Record<string, number> = { off: 0, on: 0 }
    for (let n = 0; n < 40; n++) {
      const targetingKey = `seen-${n}`
      // A bulk evaluation counts no exposure.
      const { body } = await post('/ofrep/v1/evaluate/flags', { context: { targetingKey, plan: 'pro' } })
      const flag = (body.flags as { key: string; variant: string; reason: string }[]).find(
        ({ key }) => key === 'seen',
      )
      if (flag?.reason === 'SPLIT') expected[flag.variant] = (expected[flag.variant] ?? 0) + 1
      for (let times = 0; times < 2; times++)
        await client.getBooleanValue('seen', false, { targetingKey, plan: 'pro' })
      await client.getBooleanValue('seen', false, { targetingKey, plan: 'free' })
    }
    await hook.close()
    const seen = async () => {
      const response = await waymark.request(`/api/projects/${waymark.projectId}/decisions/seen/results`)
      return ((await response.json()) as { sampleRatio: { seen: Record<string, number> } }).sampleRatio.seen
    }
    await eventually(
      'they are counted',
      async () => JSON.stringify(await seen()) === JSON.stringify(expected),
    )
    // Those who are in no rollout, or in the holdout, are known as well.
    const stats = await waymark.request(`/api/projects/${waymark.projectId}/decisions/seen/stats`)
    const { variants } = (await stats.json()) as { variants: { people: number }[] }
    expect(variants.reduce((sum, { people }) => sum + people, 0)).toBe(40)
  })

  it('reads over HTTP what flagd polls, with a key of a server, of its environment', async () => {
    const read = (key: string, headers: Record<string, string> = {}) =>
      waymark.request('/api/v1/decide/flagd', { headers: { 'X-API-Key': key, ...headers } })
    await create('in-staging', {
      rules: [],
      environments: { staging: { status: 'active', rules: [{ variant: 'on' }] } },
    })
    const staging = await keyWith({ environment: 'staging' })
    const flagsFor = async (key: string) =>
      (await (await read(key)).json()) as { flags: Json; metadata: Json }
    await eventually('it is known', async () => 'in-staging' in (await flagsFor(staging)).flags)
    expect(await flagsFor(staging)).toMatchObject({
      flags: { 'in-staging': { defaultVariant: 'off', targeting: {} } },
      metadata: { scope: 'staging' },
    })
    const production = await flagsFor(waymark.apiKey)
    expect(production.flags['in-staging']).not.toHaveProperty('targeting')
    expect(production.flags).not.toHaveProperty('not-local')
    const etag = (await read(staging)).headers.get('ETag') ?? ''
    expect((await read(staging, { 'If-None-Match': etag })).status).toBe(304)
    const browser = await keyWith({ kind: 'pub' })
    expect((await read(browser)).status).toBe(403)
    expect((await read(await keyWith({ scopes: ['links:read'] }))).status).toBe(403)
  })

  it('serves 1,000 streams of one connection, each of which hears of a change', async () => {
    await create('for-many', { rules: [] })
    const key = await keyWith({ requestsPerMinute: 100_000 })
    const session = connect(`http://127.0.0.1:${syncPort}`)
    const texts = Array.from({ length: 1_000 }, () => '')
    const call = (index: number, path: string, authorization: string) => {
      const stream = session.request({
        ':method': 'POST',
        ':path': `/flagd.sync.v1.FlagSyncService/${path}`,
        'content-type': 'application/grpc',
        te: 'trailers',
        authorization,
      })
      const status = new Promise((resolve) => {
        const note = (headers: Json) => 'grpc-status' in headers && resolve(headers['grpc-status'])
        stream.on('response', note).on('trailers', note)
      })
      stream.setEncoding('latin1').on('data', (text: string) => {
        texts[index] += text
      })
      stream.on('error', () => {})
      stream.end(messageFrame(lengthDelimited(1, Buffer.from('test'))))
      return status
    }
    const has = (text: string) => eventually(text, async () => texts.every((one) => one.includes(text)))
    texts.forEach((_text, index) => void call(index, 'SyncFlags', `Bearer ${key}`))
    await has('"for-many"')
    await create('one-more', { rules: [] })
    await has('"one-more"')
    expect(await call(0, 'SyncFlags', 'Bearer unknown')).toBe('16')
    expect(await call(0, 'SyncFlags', `Bearer ${await keyWith({ kind: 'pub' })}`)).toBe('7')
    expect(await call(0, 'Unknown', `Bearer ${key}`)).toBe('12')
    expect(await call(0, 'FetchAllFlags', `Bearer ${key}`)).toBe('0')
    session.destroy()
  })
})
