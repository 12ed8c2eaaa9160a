import { randomUUID } from 'node:crypto'
import { MAX_DECISION_VERSIONS } from '@waymark/contracts/http/decisions'
import { services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, startWorld, type World } from './world.ts'

describe.skipIf(!services)('the history of a decision', () => {
  let world: World
  beforeAll(async () => {
    world = await startWorld()
  })
  afterAll(() => world?.stop())

  const create = async (): Promise<Json & { id: string; key: string }> => {
    const { status, body } = await world.manage('POST', 'decisions', {
      key: `d-${randomUUID()}`,
      variants: [
        { key: 'off', value: false },
        { key: 'on', value: true },
      ],
      fallbackVariant: 'off',
      rules: [{ id: 'everyone', rollout: 10, variant: 'on' }],
    })
    expect(status).toBe(201)
    return body as Json & { id: string; key: string }
  }
  const historyOf = (key: string, rest = '') => world.manage('GET', `decisions/${key}/history${rest}`)

  it('names who made a version to callers who may list the members and keys', async () => {
    const { key } = await create()
    const keyWith = async (scope: string): Promise<string> => {
      const { body } = await world.manage('POST', 'api-keys', { name: scope, kind: 'sec', scopes: [scope] })
      return String(body.key)
    }
    const change = { name: 'Banner' }
    const writer = { 'X-API-Key': await keyWith('manage:write') }
    expect((await world.manage('PATCH', `decisions/${key}`, change, writer)).status).toBe(200)
    const later = { at: new Date(Date.now() + 3_600_000).toISOString(), change }
    expect((await world.manage('POST', `decisions/${key}/scheduled-changes`, later, writer)).status).toBe(201)
    const namesFor = async (headers: Record<string, string> = {}) => {
      const read = async (rest: string) =>
        (await world.manage('GET', `decisions/${key}/${rest}`, undefined, headers)).body
      const [version] = (await read('history')).data as { changedBy: Json }[]
      const compared = (await read('history/2')) as { changedBy: Json }
      const [scheduled] = (await read('scheduled-changes')).data as { scheduledBy: Json }[]
      return [version?.changedBy.name, compared.changedBy.name, scheduled?.scheduledBy.name]
    }
    expect(await namesFor()).toEqual(['manage:write', 'manage:write', 'manage:write'])
    expect(await namesFor({ 'X-API-Key': await keyWith('manage:read') })).toEqual([null, null, null])
  })

  it('answers what a version changed, who changed it and when', async () => {
    const { key } = await create()
    await world.manage('PATCH', `decisions/${key}`, {
      name: 'Banner',
      rules: [
        { id: 'friends', condition: { '==': [{ var: 'traits.friend' }, true] }, variant: 'on' },
        { id: 'everyone', rollout: 25, variant: 'on' },
      ],
    })
    await world.manage('POST', `decisions/${key}/activate`)
    expect((await historyOf(key, '/2')).body).toMatchObject({
      version: 2,
      change: 'updated',
      status: 'draft',
      name: 'Banner',
      changedBy: { kind: 'key', id: expect.any(String), name: expect.any(String) },
      changedAt: expect.any(String),
      previousVersion: 1,
      changes: expect.arrayContaining([
        { op: 'replace', path: '/name', value: 'Banner', was: null },
        { op: 'replace', path: '/rules/0/id', value: 'friends', was: 'everyone' },
        { op: 'add', path: '/rules/1', value: expect.objectContaining({ id: 'everyone', rollout: 25 }) },
      ]),
    })
    expect((await historyOf(key, '/3')).body.changes).toEqual([
      { op: 'replace', path: '/status', value: 'active', was: 'draft' },
    ])
    expect((await historyOf(key, '/1')).body).toMatchObject({ previousVersion: null, changes: [] })
    for (const version of ['0', '4', 'x', '1e1', '9'.repeat(30)])
      expect([version, (await historyOf(key, `/${version}`)).status]).toEqual([version, 404])
  })

  it('restores a version as a new one, unless the decision has changed meanwhile', async () => {
    const { key, rules } = await create()
    await world.manage('PATCH', `decisions/${key}`, { status: 'active', rules: [], holdout: 5 })
    const read = await world.manage('GET', `decisions/${key}`)
    await world.manage('POST', `decisions/${key}/pause`)
    const restore = (etag: string, version = 1) =>
      world.manage('POST', `decisions/${key}/history/${version}/restore`, undefined, { 'If-Match': etag })
    expect((await restore(read.etag)).status).toBe(412)
    expect((await world.manage('GET', `decisions/${key}`)).body.version).toBe(3)

    const { etag } = await world.manage('GET', `decisions/${key}`)
    expect(await restore(etag)).toMatchObject({
      status: 200,
      body: { version: 4, status: 'paused', holdout: 0, rules },
    })
    expect((await restore('*', 5)).status).toBe(404)
    expect((await historyOf(key, '/4')).body).toMatchObject({ change: 'rolled_back', previousVersion: 3 })
    await world.manage('POST', `decisions/${key}/archive`)
    expect((await restore('*')).status).toBe(409)
  })

  it('keeps the newest versions only', async () => {
    const { key, id: decisionId } = await create()
    const { prisma } = world.platform.db
    const { evidence: _evidence, ...first } = await prisma.decisionVersion.findUniqueOrThrow({
      where: { decisionId_version: { decisionId, version: 1 } },
    })
    const before = MAX_DECISION_VERSIONS - 1
    await prisma.decisionVersion.createMany({
      data: Array.from({ length: before - 1 }, (_, index) => ({
        ...first,
        definition: first.definition as object,
        version: index + 2,
      })),
    })
    await prisma.decision.update({ where: { id: decisionId }, data: { version: before } })
    const kept = async () => {
      const { _count, _min } = await prisma.decisionVersion.aggregate({
        where: { decisionId },
        _count: true,
        _min: { version: true },
      })
      return [_count, _min.version]
    }
    await world.manage('POST', `decisions/${key}/pause`)
    expect(await kept()).toEqual([MAX_DECISION_VERSIONS, 1])
    await world.manage('POST', `decisions/${key}/activate`)
    expect(await kept()).toEqual([MAX_DECISION_VERSIONS, 2])
    expect((await historyOf(key, '/1')).status).toBe(404)
    expect((await historyOf(key, '/2')).body).toMatchObject({ previousVersion: null, changes: [] })
  })
})
