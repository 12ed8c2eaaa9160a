import { randomUUID } from 'node:crypto'
import { MAX_OWN_ENVIRONMENTS } from '@waymark/contracts/environment'
import { resolveProfiles, storeExposures } from '@waymark/pipeline'
import { services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, startWorld, type World } from './world.ts'

describe.skipIf(!services)('environments', () => {
  let world: World
  beforeAll(async () => {
    world = await startWorld()
  })
  afterAll(() => world?.stop())

  const parts = {
    variants: [
      { key: 'off', value: false },
      { key: 'on', value: true },
    ],
    fallbackVariant: 'off',
    rules: [{ id: 'live', variant: 'on' }],
  }
  const create = async (more: Json = {}) => {
    const body = { key: `d-${randomUUID()}`, ...parts, ...more }
    const { status, body: created } = await world.manage('POST', 'decisions', body)
    expect([status, created.errors]).toEqual([201, undefined])
    return created as Json & { id: string; key: string }
  }
  const patch = (key: string, environments: unknown) =>
    world.manage('PATCH', `decisions/${key}`, { environments })

  it('of a project are production, staging and its own ones', async () => {
    const created = await world.manage('POST', 'environments', { key: 'listed', name: 'A list' })
    expect(created).toMatchObject({ status: 201, body: { key: 'listed', name: 'A list', builtIn: false } })
    const { body } = await world.manage('GET', 'environments')
    expect((body.environments as Json[]).map(({ key, builtIn }) => [key, builtIn])).toEqual([
      ['production', true],
      ['staging', true],
      ['listed', false],
    ])
    for (const key of ['listed', 'staging', 'production'])
      expect(await world.manage('POST', 'environments', { key })).toMatchObject({
        status: 422,
        body: { errors: [{ field: 'key', rule: 'unique' }] },
      })
    for (const key of ['', 'A', '1st', 'a b', 'a'.repeat(51), '__proto__'])
      expect([key, (await world.manage('POST', 'environments', { key })).status]).toEqual([key, 422])
    expect((await world.manage('DELETE', 'environments/listed')).status).toBe(204)
    expect((await world.manage('DELETE', 'environments/listed')).status).toBe(404)
    expect((await world.manage('DELETE', 'environments/staging')).status).toBe(409)
  })

  it('have a maximum number, also under concurrency', async () => {
    const keys = Array.from({ length: MAX_OWN_ENVIRONMENTS + 1 }, (_, index) => `full-${index}`)
    const statuses = await Promise.all(
      keys.map(async (key) => (await world.manage('POST', 'environments', { key })).status),
    )
    expect(statuses.sort()).toEqual([...Array(MAX_OWN_ENVIRONMENTS).fill(201), 422])
    await Promise.all(keys.map((key) => world.manage('DELETE', `environments/${key}`)))
  })

  it('are not deleted while an API key or a decision uses them', async () => {
    await world.manage('POST', 'environments', { key: 'used' })
    const { body: apiKey } = await world.manage('POST', 'api-keys', {
      name: 'Previews',
      kind: 'pub',
      scopes: ['decide'],
      environment: 'used',
    })
    expect(apiKey.environment).toBe('used')
    const { key } = await create({ environments: { used: { status: 'active' } } })
    const refusal = async () => (await world.manage('DELETE', 'environments/used')).body.error
    expect(await refusal()).toContain('Previews')
    const rotated = await world.manage('POST', `api-keys/${apiKey.id}/rotate`, { overlapSeconds: 0 })
    expect(rotated.body.environment).toBe('used')
    expect(await refusal()).toContain('Previews')
    await world.manage('DELETE', `api-keys/${rotated.body.id}`)
    expect(await refusal()).toContain(key)
    expect((await patch(key, { used: null })).body).not.toHaveProperty('environments')
    expect((await world.manage('DELETE', 'environments/used')).status).toBe(204)
    const restored = await world.manage('POST', `decisions/${key}/history/1/restore`)
    expect(restored).toMatchObject({ status: 422, body: { errors: [{ field: 'environments.used' }] } })
    const revived = await world.manage('PATCH', `api-keys/${apiKey.id}`, { expiresAt: null })
    expect(revived).toMatchObject({ status: 422, body: { errors: [{ field: 'environment' }] } })
  })

  it('of API keys are known ones, by default production', async () => {
    const key = { name: 'k', kind: 'sec', scopes: ['decide'] }
    expect((await world.manage('POST', 'api-keys', key)).body.environment).toBe('production')
    expect(await world.manage('POST', 'api-keys', { ...key, environment: 'nowhere' })).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'environment', rule: 'exists' }] },
    })
  })

  it('of a decision have a status and rules of their own, which a patch changes one by one', async () => {
    const staging = { rules: [{ variant: 'on', rollout: 50 }] }
    const { key, status, rules, environments } = await create({ environments: { staging } })
    expect([status, rules]).toMatchObject(['draft', [{ id: 'live' }]])
    expect(environments).toMatchObject({ staging: { status: 'paused', rules: [{ rollout: 50 }] } })
    const [stored] = (environments as { staging: { rules: Json[] } }).staging.rules
    expect((await patch(key, { staging: { status: 'active' } })).body).toMatchObject({
      status: 'draft',
      environments: { staging: { status: 'active', rules: [stored] } },
    })
    await world.manage('POST', 'environments', { key: 'qa' })
    const two = await patch(key, { qa: { rules: [] } })
    expect(two.body.environments).toMatchObject({ staging: { status: 'active' }, qa: { status: 'paused' } })
    expect((await world.manage('PATCH', `decisions/${key}`, { holdout: 1 })).body.environments).toEqual(
      two.body.environments,
    )
    expect((await patch(key, { staging: { rules: [{ variant: 'on' }] } })).body.environments).toMatchObject({
      staging: { status: 'active', rules: [{ id: stored?.id, rollout: 100 }] },
    })
    expect((await patch(key, null)).body).not.toHaveProperty('environments')
  })

  it.each([
    ['production', { production: { rules: [] } }, 'environments.production'],
    ['an unknown one', { nowhere: { rules: [] } }, 'environments.nowhere'],
    ['a rule without a variant', { staging: { rules: [{ rollout: 5 }] } }, 'environments.staging.rules.0'],
    [
      'a rule that depends on itself',
      { staging: { rules: [{ variant: 'on', prerequisites: [{ decision: 'self', variants: ['on'] }] }] } },
      'environments.staging.rules',
    ],
  ])('refuse %s', async (_what, environments, field) => {
    const { status, body } = await world.manage('POST', 'decisions', { ...parts, key: 'self', environments })
    expect([status, (body.errors as Json[]).map((error) => error.field)]).toEqual([422, [field]])
  })

  it('are turned on and off one by one, even while the rules are not valid any more', async () => {
    const first = await create()
    const needs = [{ decision: first.key, variants: ['on'] }]
    const { key } = await create({
      status: 'active',
      environments: { staging: { status: 'active', rules: [{ variant: 'on', prerequisites: needs }] } },
    })
    await world.manage('POST', `decisions/${first.key}/archive`)
    const turn = (how: string, environment: string) =>
      world.manage('POST', `decisions/${key}/${how}?environment=${environment}`)
    expect(await turn('pause', 'staging')).toMatchObject({
      status: 200,
      body: { status: 'active', environments: { staging: { status: 'paused', rules: [{ variant: 'on' }] } } },
    })
    expect((await turn('activate', 'staging')).body).toMatchObject({
      environments: { staging: { status: 'active' } },
    })
    expect((await turn('pause', 'production')).body).toMatchObject({
      status: 'paused',
      environments: { staging: { status: 'active' } },
    })
    expect((await turn('pause', 'nowhere')).status).toBe(422)
    const { body } = await world.manage('GET', `decisions/${key}/history/2`)
    expect(body.changes).toEqual([
      { op: 'replace', path: '/environments/staging/status', value: 'paused', was: 'active' },
    ])
  })

  it('are warned about when a prerequisite of a rule there is archived', async () => {
    const { key: needed } = await create()
    const rules = [{ id: 'there', variant: 'on', prerequisites: [{ decision: needed, variants: ['on'] }] }]
    await create({ environments: { staging: { rules } } })
    const { body } = await world.manage('POST', `decisions/${needed}/archive`)
    expect(body.warnings).toMatchObject([{ code: 'prerequisite_archived', ruleId: 'there' }])
  })

  it('keep their status when an earlier version is restored', async () => {
    const rules = [{ id: 'tried', variant: 'on' }]
    const { key } = await create({ environments: { staging: { status: 'active', rules } } })
    await world.manage('POST', `decisions/${key}/pause?environment=staging`)
    await patch(key, { staging: { rules: [] } })
    const restored = await world.manage('POST', `decisions/${key}/history/1/restore`)
    expect(restored.body.environments).toMatchObject({
      staging: { status: 'paused', rules: [{ id: 'tried' }] },
    })
    await patch(key, { staging: null })
    const again = await world.manage('POST', `decisions/${key}/history/1/restore`)
    expect(again.body.environments).toMatchObject({ staging: { status: 'paused', rules: [{ id: 'tried' }] } })
  })

  it('have statistics, results and previews of their own', async () => {
    const split = [
      { variant: 'off', weight: 1 },
      { variant: 'on', weight: 1 },
    ]
    const rules = [{ id: 'halves', split }]
    const decision = await create({
      status: 'active',
      rules,
      environments: { staging: { status: 'active', rules } },
      metrics: [{ key: 'm', eventName: 'order', kind: 'count', goal: 'up' }],
    })
    const expose = async (variant: string, visitorId: string, environment?: string) => {
      const { projectId } = world
      const [profileId = null] = await resolveProfiles(world.platform.db.pool, [
        { projectId, visitorId, userId: null },
      ])
      await storeExposures(world.platform.db.pool, [
        {
          v: 1,
          projectId,
          decisionId: decision.id,
          decisionKey: decision.key,
          version: 1,
          variant,
          reason: 'SPLIT',
          ruleId: 'halves',
          subject: visitorId,
          visitorId,
          userId: null,
          profileId,
          ...(environment !== undefined && { environment }),
          exposedAt: new Date().toISOString(),
        },
      ])
    }
    const visitorId = `v-${randomUUID()}`
    await expose('on', visitorId)
    await expose('off', visitorId, 'staging')
    await expose('off', `v-${randomUUID()}`, 'staging')
    const peopleIn = async (environment: string) => {
      const query = environment && `?environment=${environment}`
      const stats = await world.manage('GET', `decisions/${decision.key}/stats${query}`)
      const results = await world.manage('GET', `decisions/${decision.key}/results${query}`)
      return [
        (stats.body.variants as Json[]).map(({ variant, people }) => [variant, people]),
        (results.body.sampleRatio as Json).seen,
      ]
    }
    const inProduction = [
      [
        ['off', 0],
        ['on', 1],
      ],
      { off: 0, on: 1 },
    ]
    expect(await peopleIn('')).toEqual(inProduction)
    expect(await peopleIn('production')).toEqual(inProduction)
    expect(await peopleIn('staging')).toEqual([
      [
        ['off', 2],
        ['on', 0],
      ],
      { off: 2, on: 0 },
    ])
    for (const what of ['stats', 'results'])
      expect((await world.manage('GET', `decisions/${decision.key}/${what}?environment=no`)).status).toBe(422)

    await patch(decision.key, { staging: { rules: [{ id: 'tried', variant: 'on' }] } })
    const preview = (more: Json) =>
      world.manage('POST', `decisions/${decision.key}/preview`, { visitorId: 'v', ...more })
    expect((await preview({})).body.answer).toMatchObject({ ruleId: 'halves', reason: 'SPLIT' })
    expect((await preview({ environment: 'staging' })).body).toMatchObject({
      status: 'active',
      answer: { ruleId: 'tried', reason: 'TARGETING_MATCH' },
    })
    expect((await preview({ environment: 'no' })).status).toBe(422)
  })
})
