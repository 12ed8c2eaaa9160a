import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { type Constellation, eventually, startStandalone } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRunner, type Run, temporaryFolder } from './run.ts'

const file = (name: string): string => path.join(import.meta.dirname, 'imports', name)

let waymark: Constellation
let temporary: Awaited<ReturnType<typeof temporaryFolder>>
const { run } = createRunner(
  () => waymark,
  () => temporary.folder,
)
beforeAll(async () => {
  temporary = await temporaryFolder()
  waymark = await startStandalone()
})
afterAll(async () => {
  await waymark?.stop()
  await temporary?.remove()
})

type Report = {
  dryRun: boolean
  imported: number
  existing: number
  refused: { where: string; reason: string }[]
}
const report = ({ out, err }: Run): Report => {
  if (out === '') throw new Error(err)
  return JSON.parse(out) as Report
}
const project = async <T>(place: string): Promise<T> =>
  (await (await waymark.request(`/api/projects/${waymark.projectId}/${place}`)).json()) as T
const decide = async (key: string, context: object, userId = 'someone'): Promise<unknown> => {
  const response = await waymark.request('/api/v1/decide', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ userId, keys: [key], context }),
  })
  const { decisions } = (await response.json()) as { decisions: { variant: string | null }[] }
  return decisions[0]?.variant
}

describe('waymark import flags', () => {
  const launchdarkly = ['import', 'flags', '--from', 'launchdarkly', file('launchdarkly.json'), '--json']

  it('says in a dry run what it would do, and does nothing', async () => {
    const dry = await run([...launchdarkly, '--dry-run'])
    expect(dry.code).toBe(5)
    expect(report(dry)).toMatchObject({ dryRun: true, imported: 2, existing: 0, refused: { length: 3 } })
    expect((await project<{ data: object[] }>('decisions')).data).toEqual([])
  })

  it('creates what LaunchDarkly has exported, refuses what has no equivalent, and changes nothing twice', async () => {
    const first = await run(launchdarkly)
    expect(first.code).toBe(5)
    expect(report(first)).toEqual({
      dryRun: false,
      imported: 2,
      existing: 0,
      refused: [
        { where: 'by-version', reason: 'a condition uses the operator semVerGreaterThan' },
        { where: 'old', reason: 'it is archived' },
        { where: 'elsewhere', reason: 'it has no environment production' },
      ],
    })
    expect(report(await run(launchdarkly))).toMatchObject({ imported: 0, existing: 2 })
    expect(await project('decisions/new-checkout')).toMatchObject({
      status: 'active',
      name: 'New checkout',
      fallbackVariant: 'Control',
      variants: [
        { key: 'Control', value: 'control' },
        { key: 'One-page', value: 'one-page' },
        { key: 'variant-3', value: { steps: 2 } },
      ],
      rules: [
        { variant: 'One-page', prerequisites: [{ decision: 'payments', variants: ['true'] }] },
        { variant: 'variant-3', description: 'Beta testers in Germany' },
        {
          split: [
            { variant: 'Control', weight: 75_000 },
            { variant: 'One-page', weight: 25_000 },
          ],
        },
      ],
    })
    expect(await project('decisions/payments')).toMatchObject({ status: 'draft', fallbackVariant: 'false' })
  })

  it('keeps what the conditions of LaunchDarkly mean', async () => {
    expect((await run(['flags', 'on', 'payments'])).code).toBe(0)
    const beta = { country: 'AT', email: 'ann@example.com', age: 30 }
    await eventually('the decision applies', async () => (await decide('new-checkout', beta)) === 'variant-3')
    expect(await decide('new-checkout', { key: 'user-2' })).toBe('One-page')
    for (const other of [
      { ...beta, country: 'FR' },
      { ...beta, email: 'ann@example.org' },
      { ...beta, age: 17 },
    ])
      expect(await decide('new-checkout', other)).not.toBe('variant-3')
  })

  it('creates what Unleash has exported, with what its strategies mean', async () => {
    const imported = await run(['import', 'flags', '--from', 'unleash', file('unleash.json'), '--json'])
    expect(report(imported)).toMatchObject({
      imported: 2,
      refused: [
        { where: 'by-host', reason: 'it uses the strategy applicationHostname' },
        { where: 'child', reason: 'it depends on search.v2' },
      ],
    })
    expect(await project('decisions/search.v2')).toMatchObject({
      status: 'active',
      fallbackVariant: 'off',
      rules: [{ rollout: 25, description: 'A quarter of Europe', variant: 'on' }, { variant: 'on' }],
    })
    expect(await project('decisions/banner')).toMatchObject({
      status: 'draft',
      variants: [
        { key: 'red', value: { color: 'red' } },
        { key: 'blue', value: 'blue' },
        { key: 'off', value: false },
      ],
      rules: [{ split: [{ variant: 'red' }, { variant: 'blue' }] }],
    })
    await eventually(
      'the decision applies',
      async () => (await decide('search.v2', { userId: 'ann' })) === 'on',
    )
    expect(await decide('search.v2', { userId: 'eve', region: 'us', age: 20, plan: 'pro' })).toBe('off')
    expect(await decide('search.v2', { region: 'eu', age: 17, plan: 'pro' })).toBe('off')
    expect(await decide('search.v2', { region: 'eu', age: 20, plan: 'free' })).toBe('off')
  })

  it('refuses files and products that it does not know', async () => {
    expect(await run(['import', 'flags', '--from', 'unleash', file('shlink.csv')])).toMatchObject({
      code: 2,
      err: 'The file is no JSON\n',
    })
    expect((await run(['import', 'flags', '--from', 'split', 'x.json'])).code).toBe(2)
    expect((await run(['import', 'flags', 'x.json'])).code).toBe(2)
    expect((await run(['import', 'flags', '--from', 'unleash', 'nowhere.json'])).err).toContain('Cannot read')
    const empty = await run(['import', 'flags', '--from', 'unleash', '-', '--json'], { stdin: '[]' })
    expect(report(empty)).toEqual({ dryRun: false, imported: 0, existing: 0, refused: [] })
  })
})

describe('waymark import links', () => {
  it.each([
    [
      'shlink',
      'shlink.csv',
      2,
      [
        { where: 'line 5', reason: 'it has no longUrl' },
        { where: 'bad', reason: expect.stringContaining('destination') },
      ],
      { code: 'spring', destination: 'https://shop.example/spring?a=1', tags: ['sale', 'spring'] },
    ],
    [
      'bitly',
      'bitly.csv',
      2,
      [{ where: 'line 4', reason: 'it is archived' }],
      { code: 'spring-sale', externalId: 'bitly:brand.example/spring-sale', tags: ['sale', 'spring'] },
    ],
  ])('creates what %s has exported once', async (from, name, imported, refused, link) => {
    const args = ['import', 'links', '--from', from, file(name), '--json']
    const before = (await project<{ data: object[] }>('links')).data.length
    await run([...args, '--dry-run'])
    expect((await project<{ data: object[] }>('links')).data).toHaveLength(before)
    expect(report(await run(args))).toEqual({ dryRun: false, imported, existing: 0, refused })
    expect(report(await run(args))).toMatchObject({ imported: 0, existing: imported })
    const { data } = await project<{ data: object[] }>(`links?q=${link.code}`)
    expect(data).toMatchObject([link])
  })
})

describe('waymark import events', () => {
  type Stored = { eventName: string; timestamp: string; userId: string | null; properties: object }
  const storedOf = async (eventName: string) =>
    (await project<{ data: Stored[] }>(`events?eventName=${encodeURIComponent(eventName)}`)).data
  /** Waits for one event of each name. Those of different people are stored in any order. */
  const untilStored = async (...eventNames: string[]): Promise<void> => {
    for (const eventName of eventNames)
      await eventually(`${eventName} is stored`, async () => (await storedOf(eventName)).length === 1)
  }

  it('stores the history of Mixpanel once', async () => {
    const args = ['import', 'events', '--from', 'mixpanel', file('mixpanel.jsonl'), '--json']
    const refused = [
      { where: 'line 4', reason: 'it has no time' },
      { where: 'line 5', reason: 'it has no distinct_id' },
      { where: 'line 6', reason: 'it is no JSON object' },
    ]
    expect(report(await run([...args, '--dry-run']))).toEqual({
      dryRun: true,
      imported: 3,
      existing: 0,
      refused,
    })
    for (let repeat = 0; repeat < 2; repeat++)
      expect(report(await run(args))).toMatchObject({ imported: 3, refused })
    await untilStored('Order placed', 'Signed up')
    expect(await storedOf('Signed up')).toMatchObject([
      {
        visitorId: '75d1',
        timestamp: '2020-10-13T17:48:31.000Z',
        properties: { Plan: 'free', url: 'https://shop.example/join?utm_source=mail' },
      },
    ])
    expect(await storedOf('Order placed')).toMatchObject([{ userId: 'user-1', properties: { Total: 49.9 } }])
  })

  it('stores the history of GA4, also from a compressed file', async () => {
    const compressed = path.join(temporary.folder, 'ga4.jsonl.gz')
    await writeFile(compressed, gzipSync(await readFile(file('ga4.jsonl'))))
    for (const name of [file('ga4.jsonl'), compressed])
      expect(report(await run(['import', 'events', '--from', 'ga4', name, '--json']))).toMatchObject({
        imported: 2,
        refused: [{ where: 'line 3', reason: 'it has no user_pseudo_id' }],
      })
    await untilStored('purchase', 'page_view')
    expect(await storedOf('purchase')).toMatchObject([
      {
        userId: 'user-9',
        sessionId: '1026454.4271112504.661084800',
        properties: { amount: 4990, currency: 'USD', items: [{ item_id: 'SKU-1' }] },
      },
    ])
    expect(await storedOf('page_view')).toMatchObject([
      { timestamp: '2021-01-31T05:05:10.766Z', properties: { url: 'https://shop.example/', title: 'Home' } },
    ])
  })

  it('says that a file cannot be read', async () => {
    const missing = await run(['import', 'events', '--from', 'ga4', 'nowhere.jsonl'])
    expect(missing).toMatchObject({ code: 2, err: expect.stringContaining('Cannot read nowhere.jsonl') })
  })
})
