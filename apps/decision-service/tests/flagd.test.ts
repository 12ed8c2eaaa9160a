import { type Constellation, eventually, startStandalone } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

type Json = { [field: string]: unknown }

const variants = [
  { key: 'off', value: false },
  { key: 'on', value: true },
]
const half = [
  { variant: 'off', weight: 1 },
  { variant: 'on', weight: 1 },
]

describe('local evaluation', () => {
  let waymark: Constellation

  const post = async (path: string, body: unknown) => {
    const response = await waymark.request(path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
    return { status: response.status, body: (await response.json()) as Json }
  }
  const create = async (key: string, more: Json): Promise<Json> => {
    const parts = { key, status: 'active', variants, fallbackVariant: 'off', ...more }
    const { status, body } = await post(`/api/projects/${waymark.projectId}/decisions`, parts)
    expect({ status, body }).toMatchObject({ status: 201 })
    return body
  }
  const decide = async (ids: Json, keys: string[], context: Json = {}) => {
    const { body } = await post('/api/v1/decide', { ...ids, keys, context })
    return (body.decisions as { variant: string }[]).map(({ variant }) => variant)
  }

  beforeAll(async () => {
    waymark = await startStandalone()
  })
  afterAll(() => waymark?.stop())

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
    await eventually('it is known', async () => (await decide({ visitorId: 'v' }, ['not-local']))[0] !== null)
    const visitors = Array.from({ length: 8 }, (_, n) => `visitor-${n}`)
    const before = await Promise.all(visitors.map((visitorId) => decide({ visitorId }, ['local'])))
    expect(new Set(before.flat())).toEqual(new Set(['off', 'on']))
    for (const visitorId of visitors)
      expect((await post('/api/v1/identify', { visitorId, userId: 'one-user' })).status).toBeLessThan(300)
    const after = await Promise.all(
      visitors.map((visitorId) => decide({ visitorId, userId: 'one-user' }, ['local'])),
    )
    expect(after).toEqual(before)
    const users = await Promise.all(visitors.map((visitorId) => decide({ userId: visitorId }, ['local'])))
    expect(users).toEqual(before)
  })
})
