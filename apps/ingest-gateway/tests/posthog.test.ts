import { createRequire } from 'node:module'
import { gzipSync } from 'node:zlib'
import { type Constellation, eventually, startStandalone, untilAvailable } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { profileOf } from './sdks/stored-calls.ts'

/** What is used of the SDK. Its own types need those of browsers. */
type PostHogNode = {
  capture(event: object): void
  identify(person: object): void
  alias(ids: object): void
  setPersonProperties(change: object): void
  groupIdentify(group: object): void
  getAllFlagsAndPayloads(distinctId: string, options?: object): Promise<object>
  getFeatureFlag(key: string, distinctId: string): Promise<unknown>
  on(name: 'error', listener: (error: unknown) => void): void
  shutdown(): Promise<void>
}
const { PostHog } = createRequire(import.meta.url)('posthog-node') as {
  PostHog: new (key: string, options: object) => PostHogNode
}

type StoredEvent = {
  eventId: string
  eventName: string
  visitorId: string | null
  userId: string | null
  properties: Record<string, unknown>
}

describe('PostHog’s protocol', () => {
  let waymark: Constellation
  let url: string

  const project = (path: string, body?: object) =>
    waymark.request(`/api/projects/${waymark.projectId}/${path}`, {
      ...(body && {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      }),
    })
  const eventsOf = async (query: string): Promise<StoredEvent[]> =>
    ((await (await project(`events?limit=100&${query}`)).json()) as { data: StoredEvent[] }).data
  const keyOf = async (kind: 'pub' | 'sec', scopes: string[], more: object = {}): Promise<string> => {
    const response = await project('api-keys', { name: 'posthog', kind, scopes, ...more })
    return ((await response.json()) as { key: string }).key
  }
  const send = (path: string, body: string | Buffer, headers: Record<string, string> = {}) =>
    untilAvailable(() =>
      fetch(`${url}${path}`, {
        method: 'POST',
        headers,
        body: typeof body === 'string' ? body : new Uint8Array(body),
      }),
    )

  /** Creates a flag whose second variant everybody gets who fits the condition. */
  const newFlag = async (key: string, values: Record<string, unknown>, condition: unknown = null) => {
    const [fallbackVariant, variant] = Object.keys(values)
    const created = await project('decisions', {
      key,
      name: key,
      variants: Object.entries(values).map(([name, value]) => ({ key: name, value })),
      fallbackVariant,
      rules: [{ condition, rollout: 100, variant }],
    })
    expect(await created.text(), key).toContain(key)
    expect((await project(`decisions/${key}/activate`, {})).status).toBe(200)
  }

  beforeAll(async () => {
    waymark = await startStandalone()
    url = (await waymark.request('/healthz')).url.replace('/healthz', '')
    await newFlag('checkout', { blue: 'blue', green: { color: 'green' } })
    await newFlag('banner', { off: false, on: true })
  })
  afterAll(async () => {
    await waymark?.stop()
  })

  it('posthog-node sends events, people and groups, each once, and reads flags', async () => {
    const key = await keyOf('sec', ['events:write', 'decide'], { requestsPerMinute: 6_000 })
    const client = new PostHog(key, {
      host: url,
      flushAt: 3,
      // After 3 s, its default, it reports an error.
      featureFlagsRequestTimeoutMs: 60_000,
    })
    const errors: unknown[] = []
    client.on('error', (error) => errors.push(error))
    client.capture({ distinctId: 'node-user', event: 'order placed', properties: { total: 4900 } })
    client.identify({ distinctId: 'node-user', properties: { plan: 'free', $set_once: { first: 'a' } } })
    client.capture({ distinctId: 'node-user', event: 'renewed', properties: { $set: { plan: 'pro' } } })
    client.capture({
      distinctId: 'node-user',
      event: 'renewed',
      properties: { $set_once: { first: 'b', second: 'b' } },
    })
    client.alias({ distinctId: 'node-visitor', alias: 'node-user' })
    client.groupIdentify({ groupType: 'company', groupKey: 'acme', properties: { size: 3 } })
    await eventually('the rules are applied', async () => {
      return (await client.getFeatureFlag('checkout', 'node-user')) === 'green'
    })
    expect(await client.getAllFlagsAndPayloads('node-user')).toMatchObject({
      featureFlags: { checkout: 'green', banner: true },
      featureFlagPayloads: { checkout: { color: 'green' } },
    })
    await client.shutdown()
    expect(errors).toEqual([])

    const named = await eventually('the events are stored', async () => {
      // The SDK sends others of its own.
      const events = (await eventsOf('userId=node-user')).filter(
        ({ eventName }) => !eventName.startsWith('$'),
      )
      return events.length >= 3 && events
    })
    expect(named.map(({ eventName }) => eventName).sort()).toEqual(['order placed', 'renewed', 'renewed'])
    expect(named.find(({ eventName }) => eventName === 'order placed')?.properties).toEqual({ total: 4900 })
    await eventually('the people are merged', async () => {
      const profile = await profileOf(waymark, 'userId', 'node-user')
      expect(profile?.traits).toEqual({ plan: 'pro', first: 'a', second: 'b' })
      expect((await profileOf(waymark, 'visitorId', 'node-visitor'))?.id).toBe(profile?.id)
      return true
    })
    await eventually('the group is stored', async () => (await eventsOf('eventName=group')).length === 1)
    expect((await eventsOf('eventName=group'))[0]?.properties).toEqual({
      groupType: 'company',
      groupId: 'acme',
      traits: { size: 3 },
    })
  })

  const FORMS: [string, string, (json: string) => string | Buffer, Record<string, string>][] = [
    ['JSON', '/capture/', (json) => json, { 'Content-Type': 'application/json' }],
    ['gzip without a header', '/e/?ver=1', (json) => gzipSync(json), { 'Content-Type': 'text/plain' }],
    ['gzip with a header', '/batch/', (json) => gzipSync(json), { 'Content-Encoding': 'gzip' }],
    [
      'base64 in a form',
      '/i/v0/e/?compression=base64',
      (json) => `data=${encodeURIComponent(Buffer.from(json).toString('base64'))}`,
      { 'Content-Type': 'application/x-www-form-urlencoded' },
    ],
  ]

  it.each(FORMS)('takes %s at %s', async (form, path, encode, headers) => {
    const key = await keyOf('pub', ['events:write'])
    const batch = [{ uuid: `form-${form}`, event: 'sent', distinct_id: form, properties: { form } }]
    for (let repeat = 0; repeat < 2; repeat++) {
      const body = encode(JSON.stringify({ api_key: key, batch, sent_at: new Date() }))
      expect((await send(path, body, headers)).status).toBe(200)
    }
    await eventually('it is stored', async () => {
      const events = await eventsOf(`eventName=sent&userId=${encodeURIComponent(form)}`)
      return events.length === 1 && events[0]?.properties.form === form
    })
  })

  it('takes one message, a list, and a key within its properties', async () => {
    const token = await keyOf('pub', ['events:write'])
    const message = (n: number) => ({ event: 'listed', distinct_id: 'l', properties: { n, token } })
    expect((await send('/e/', JSON.stringify([message(1), message(2)]))).status).toBe(200)
    expect((await send('/capture', JSON.stringify(message(3)))).status).toBe(200)
    await eventually('all are stored', async () => (await eventsOf('eventName=listed')).length === 3)
    for (const { properties } of await eventsOf('eventName=listed'))
      expect(properties).toEqual({ n: expect.any(Number) })
  })

  it('refuses wrong keys, pages and bodies', async () => {
    const body = (api_key: string) => JSON.stringify({ api_key, event: 'e', distinct_id: 'u' })
    const key = await keyOf('pub', ['events:write'], { allowedOrigins: ['https://shop.example'] })
    expect((await send('/e/', body('unknown'))).status).toBe(401)
    expect((await send('/e/', '{"api_key":')).status).toBe(401)
    expect((await send('/flags/?v=2', '{')).status).toBe(401)
    expect((await send('/e/', body(key), { Origin: 'https://elsewhere.example' })).status).toBe(403)
    expect((await send('/e/', body(key), { Origin: 'https://shop.example' })).status).toBe(200)
    expect((await send('/flags/?v=2', JSON.stringify({ token: key, distinct_id: 'u' }))).status).toBe(403)
    expect((await send('/e/', gzipSync('x'.repeat(600 * 1024)))).status).toBe(413)
    const flags = await keyOf('pub', ['decide'])
    const noPerson = await send('/flags/?v=2', JSON.stringify({ token: flags }))
    expect([noPerson.status, await noPerson.json()]).toEqual([400, { error: 'distinct_id is missing' }])
  })

  it('keeps all digits of an id that is a number, also for flags', async () => {
    const key = await keyOf('pub', ['events:write', 'decide'])
    const id = '7211045500123456789'
    await newFlag('gold', { off: false, on: true }, { '==': [{ var: 'traits.plan' }, 'gold'] })
    const identify = `{"api_key":"${key}","event":"$identify","distinct_id":${id},"$set":{"plan":"gold"}}`
    expect((await send('/e/', identify)).status).toBe(200)
    await eventually('the person has the flag', async () => {
      const answer = await send('/flags/?v=2', `{"token":"${key}","distinct_id":${id}}`)
      return ((await answer.json()) as { flags: { gold?: { enabled: boolean } } }).flags.gold?.enabled
    })
  })

  it('counts the flags that people have got', async () => {
    const api_key = await keyOf('pub', ['events:write'])
    await newFlag('color', { blue: 'blue', green: { color: 'green' } })
    await newFlag('switch', { off: false, on: true })
    const called = (person: string, flag: unknown, response: unknown, uuid = `${person}-${flag}`) => ({
      event: '$feature_flag_called',
      uuid,
      distinct_id: person,
      properties: { $feature_flag: flag, $feature_flag_response: response },
    })
    const batch = [
      called('one', 'color', 'green'),
      called('one', 'color', 'green', 'again'),
      called('two', 'color', 'green'),
      called('one', 'switch', true),
      // Flags that are off or unknown, and values that no SDK sends.
      ...[false, 'red', null, { $ne: 1 }].map((response, n) => called(`odd-${n}`, 'color', response)),
      ...['unknown', '__proto__', null, ['switch']].map((flag, n) => called(`odd-${n}`, flag, true)),
    ]
    expect((await send('/batch/', JSON.stringify({ api_key, batch }))).status).toBe(200)
    const exposed = async (key: string) => {
      const { variants } = (await (await project(`decisions/${key}/stats`)).json()) as {
        variants: { variant: string; exposures: number }[]
      }
      return variants.filter(({ exposures }) => exposures > 0)
    }
    await eventually('they are counted', async () => (await exposed('color'))[0]?.exposures === 2)
    await eventually('a switch is counted', async () => (await exposed('switch'))[0]?.exposures === 1)
    expect(await exposed('color')).toMatchObject([{ variant: 'green' }])
    expect(await exposed('switch')).toMatchObject([{ variant: 'on' }])
  })

  it('answers flags as older SDKs read them, and keeps a message that is not valid for inspection', async () => {
    const key = await keyOf('pub', ['events:write', 'decide'])
    const answer = await send('/decide/?v=3', JSON.stringify({ api_key: key, distinct_id: 'u' }))
    expect(await answer.json()).toMatchObject({
      featureFlags: { checkout: 'green', banner: true },
      featureFlagPayloads: { checkout: '{"color":"green"}' },
      errorsWhileComputingFlags: false,
    })
    const only = { token: key, distinct_id: 'u', flag_keys_to_evaluate: ['banner'] }
    const { flags } = (await (await send('/flags/?v=2', JSON.stringify(only))).json()) as { flags: object }
    expect(flags).toEqual({
      banner: {
        key: 'banner',
        enabled: true,
        reason: { code: 'condition_match', description: 'TARGETING_MATCH' },
        metadata: {},
      },
    })
    const batch = [{ event: 'kept', distinct_id: 'q' }, { distinct_id: 'q' }]
    expect((await send('/batch/', JSON.stringify({ api_key: key, batch }))).status).toBe(200)
    await eventually('one is stored and one rejected', async () => {
      const { data } = (await (await project('rejected-events')).json()) as { data: { errors: object[] }[] }
      return (
        (await eventsOf('eventName=kept')).length === 1 &&
        data.some(({ errors }) => JSON.stringify(errors).includes('must be the name of an event'))
      )
    })
  })
})
