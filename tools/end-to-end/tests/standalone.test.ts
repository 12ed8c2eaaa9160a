import { createHmac, randomUUID } from 'node:crypto'
import { type Constellation, createClient, startStandalone } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeAllFeatures } from './all.suite.ts'
import { describePowerCut } from './power-cut.suite.ts'

/** Guarantees of a single process: a write applies to the next request. */
const describeAtOnce = (): void => {
  let waymark: Constellation
  beforeAll(async () => {
    waymark = await startStandalone()
  })
  afterAll(() => waymark?.stop())
  const { call, manage } = createClient(() => waymark)

  it('applies a created, changed or paused decision at once', async () => {
    const key = `d-${randomUUID()}`
    const decided = async () => (await call('POST', '/api/v1/decide', { visitorId: 'v', keys: [key] })).body
    expect(await decided()).toMatchObject({ decisions: [{ reason: 'ERROR' }] })
    const decision = {
      key,
      status: 'active',
      variants: [{ key: 'a', value: 1 }],
      fallbackVariant: 'a',
      rules: [],
    }
    expect((await manage('POST', 'decisions', decision)).status).toBe(201)
    expect(await decided()).toMatchObject({ decisions: [{ value: 1 }] })
    const variants = [{ key: 'a', value: 2 }]
    expect((await manage('PATCH', `decisions/${key}`, { variants })).status).toBe(200)
    expect(await decided()).toMatchObject({ decisions: [{ value: 2 }] })
    expect((await manage('POST', `decisions/${key}/pause`)).status).toBe(200)
    expect(await decided()).toMatchObject({ decisions: [{ reason: 'DISABLED' }] })
  })

  it('accepts user hashes as soon as the identity secret was first read', async () => {
    const userId = `u-${randomUUID()}`
    const write = (more = {}) => call('PUT', '/api/v1/profile', { userId, traits: {}, ...more })
    expect((await write()).status).toBe(200)
    const { secret } = (await manage('GET', 'identity-secret')).body
    const userHash = createHmac('sha256', String(secret)).update(userId).digest('hex')
    expect((await write({ userHash })).status).toBe(200)
  })

  it('applies a change or pause of a link at once', async () => {
    // A random code of ours could contain an offensive word, which is refused.
    const made = await manage('POST', 'links', { destination: 'https://shop.example/one' })
    expect(made).toMatchObject({ status: 201 })
    const follow = () => waymark.request(`/s/${made.body.code}`, { redirect: 'manual' })
    expect((await follow()).headers.get('Location')).toContain('/one')
    const change = (body: object) => manage('PATCH', `links/${made.body.id}`, body)
    expect((await change({ destination: 'https://shop.example/two' })).status).toBe(200)
    expect((await follow()).headers.get('Location')).toContain('/two')
    expect((await change({ status: 'paused' })).status).toBe(200)
    expect((await follow()).status).toBe(410)
  })
}

describe('Waymark in one process on embedded parts', () => {
  describeAllFeatures(startStandalone, 'standalone')
  describePowerCut(startStandalone, ['standalone'])
  describeAtOnce()
})
