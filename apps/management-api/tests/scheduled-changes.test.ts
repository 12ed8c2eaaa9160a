import { randomUUID } from 'node:crypto'
import { MAX_PENDING_CHANGES } from '@waymark/contracts/http/decisions'
import { readConfig } from '@waymark/service-kit'
import { eventually, services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { quotasConfig } from '../src/app.ts'
import { findDueChanges } from '../src/decisions/scheduled-change-queries.ts'
import { applyDue } from '../src/decisions/scheduled-changes.ts'
import { type Json, startWorld, type World } from './world.ts'

const HOUR_MS = 3_600_000

describe.skipIf(!services)('scheduled changes of a decision', () => {
  let world: World
  beforeAll(async () => {
    world = await startWorld()
  })
  afterAll(() => world?.stop())

  const create = async (): Promise<string> => {
    const key = `d-${randomUUID()}`
    const { status } = await world.manage('POST', 'decisions', {
      key,
      variants: [
        { key: 'off', value: false },
        { key: 'on', value: true },
      ],
      fallbackVariant: 'off',
      rules: [{ id: 'everyone', variant: 'on' }],
    })
    expect(status).toBe(201)
    return key
  }
  const inHours = (hours: number) => new Date(Date.now() + hours * HOUR_MS).toISOString()
  const schedule = (key: string, change: Json, at = inHours(1)) =>
    world.manage('POST', `decisions/${key}/scheduled-changes`, { at, change })
  const scheduled = async (key: string, change: Json, at?: string) => {
    const { status, body } = await schedule(key, change, at)
    expect([status, body.errors]).toEqual([201, undefined])
    return body as Json & { id: string }
  }
  const read = async (key: string) => (await world.manage('GET', `decisions/${key}`)).body
  const listOf = async (key: string, rest = '') =>
    (await world.manage('GET', `decisions/${key}/scheduled-changes${rest}`)).body.data as Json[]
  /** What a process does whose clock is some hours ahead. */
  const applyAhead = (hours: number, clock = () => Date.now() + hours * HOUR_MS) =>
    applyDue({ db: world.platform.db, clock, quotas: readConfig(quotasConfig, {}) })

  it('are made at their time, and show in the history who scheduled them', async () => {
    const key = await create()
    const at = new Date(Date.now() + 10_000).toISOString()
    const { id, scheduledBy } = await scheduled(key, { status: 'active', holdout: 5 }, at)
    expect(await read(key)).toMatchObject({ version: 1, status: 'draft' })
    const [applied] = await eventually('it is applied', async () => {
      const found = await listOf(key)
      return found[0]?.status === 'applied' && found
    })
    expect(applied).toMatchObject({ id, at, version: 2, error: null, finishedAt: expect.any(String) })
    expect(Date.parse(String(applied?.finishedAt))).toBeGreaterThanOrEqual(Date.parse(at))
    expect(await read(key)).toMatchObject({
      version: 2,
      status: 'active',
      holdout: 5,
      rules: [{ id: 'everyone' }],
    })
    const { body } = await world.manage('GET', `decisions/${key}/history/2`)
    expect(body).toMatchObject({ change: 'scheduled', changedBy: scheduledBy })
    expect(scheduledBy).toMatchObject({ kind: 'key', id: expect.any(String) })
  })

  it('are made once by many processes, in order after all of them were down', async () => {
    const key = await create()
    const holdouts = [4, 1, 3, 2]
    for (const holdout of holdouts) await scheduled(key, { holdout }, inHours(holdout))
    await applyAhead(0.5)
    expect(await read(key)).toMatchObject({ version: 1 })
    await Promise.all(Array.from({ length: 4 }, () => applyAhead(3.5)))
    expect(await read(key)).toMatchObject({ version: 4, holdout: 3 })
    await Promise.all(Array.from({ length: 4 }, () => applyAhead(5)))
    const versions = await world.readAll(`decisions/${key}/history`, 10)
    expect(versions.map(({ version, holdout }) => [version, holdout])).toEqual([
      [5, 4],
      [4, 3],
      [3, 2],
      [2, 1],
      [1, 0],
    ])
    const made = (await listOf(key)).map(({ at, version }) => ({ at: Date.parse(String(at)), version }))
    expect(made.sort((a, b) => a.at - b.at).map(({ version }) => version)).toEqual([2, 3, 4, 5])
  })

  it('are not made in part by a process that dies, nor before those that come first', async () => {
    const [key, other] = [await create(), await create()]
    await scheduled(key, { holdout: 1 }, inHours(1))
    await scheduled(other, { holdout: 7 }, inHours(1.2))
    await scheduled(key, { holdout: 2 }, inHours(1.5))
    // Fails when it notes the end of the first change, in the transaction that has written the new version.
    let calls = 0
    const dying = () => {
      calls += 1
      if (calls === 2) throw new Error('killed')
      return Date.now() + 2 * HOUR_MS
    }
    await expect(applyAhead(2, dying)).rejects.toThrow('killed')
    expect(await read(key)).toMatchObject({ version: 1, holdout: 0 })
    expect((await listOf(key)).map(({ status }) => status)).toEqual(['pending', 'pending'])
    expect(await read(other)).toMatchObject({ version: 2, holdout: 7 })
    await applyAhead(2)
    expect(await read(key)).toMatchObject({ version: 3, holdout: 2 })
  })

  it('of a project with very many do not delay those of others', async () => {
    const { prisma } = world.platform.db
    const { id: decisionId } = await prisma.decision.findFirstOrThrow({ where: { key: await create() } })
    const changeOf = (projectId: string, hours: number) => ({
      id: randomUUID(),
      projectId,
      decisionId,
      at: new Date(inHours(hours)),
      change: {},
      scheduledByKind: 'key',
      scheduledById: 'k',
    })
    const [busy, other] = [randomUUID(), randomUUID()]
    const early = Array.from({ length: 101 }, (_, index) => changeOf(busy, 1 + index / 1_000))
    const late = changeOf(other, 2)
    await prisma.scheduledChange.createMany({ data: [...early, late] })
    const due = await findDueChanges(prisma, new Date(inHours(3)), 100)
    await prisma.scheduledChange.deleteMany({ where: { decisionId } })
    const added = new Set<string>([...early, late].map(({ id }) => id))
    const found = due.filter((id) => added.has(id))
    expect(found).toContain(late.id)
    expect(found.filter((id) => id !== late.id)).toEqual(early.slice(0, 25).map(({ id }) => id))
  })

  it('win over edits of the same fields, keep those of others, and serialize with both', async () => {
    const key = await create()
    await scheduled(key, { holdout: 9 })
    await world.manage('PATCH', `decisions/${key}`, { holdout: 4, name: 'Edited' })
    const edit = world.manage('PATCH', `decisions/${key}`, { version: 2, description: 'At the same time' })
    const [{ status }] = await Promise.all([edit, applyAhead(2)])
    expect(await read(key)).toMatchObject({
      name: 'Edited',
      holdout: 9,
      // An edit that came second was made from an older version.
      ...(status === 412 ? { version: 3 } : { version: 4, description: 'At the same time' }),
    })
    expect([200, 412]).toContain(status)
  })

  it('fail with the reason when the decision does not allow them any more', async () => {
    const [edited, archived, first, second] = [await create(), await create(), await create(), await create()]
    await scheduled(edited, { version: 1, holdout: 9 })
    await world.manage('POST', `decisions/${edited}/activate`)
    await scheduled(archived, { status: 'active' })
    await world.manage('POST', `decisions/${archived}/archive`)
    const prerequisites = [{ decision: first, variants: ['on'] }]
    await scheduled(second, { rules: [{ variant: 'on', prerequisites }] })
    await world.manage('POST', `decisions/${first}/archive`)
    await applyAhead(2)
    for (const [key, reason] of [
      [edited, 'its version is 2'],
      [archived, 'is archived'],
      [second, 'rules.0.prerequisites.0.decision is not a decision'],
    ] as const)
      expect(await listOf(key)).toMatchObject([
        { status: 'failed', error: expect.stringContaining(reason), version: null },
      ])
    expect(await read(edited)).toMatchObject({ version: 2, holdout: 0 })
    await applyAhead(2)
    expect(await read(edited)).toMatchObject({ version: 2 })
  })

  it('are cancelled until their time', async () => {
    const key = await create()
    const { id } = await scheduled(key, { holdout: 1 })
    const cancel = (headers: Record<string, string> = {}, of = key) =>
      world.manage('DELETE', `decisions/${of}/scheduled-changes/${id}`, undefined, headers)
    expect((await cancel({ 'If-Match': '"another"' })).status).toBe(412)
    expect((await cancel({}, await create())).status).toBe(404)
    expect((await cancel()).status).toBe(204)
    expect((await cancel()).status).toBe(409)
    await applyAhead(2)
    expect(await read(key)).toMatchObject({ version: 1 })
    expect(await listOf(key, '?status=pending')).toEqual([])
    expect(await listOf(key, '?status=cancelled')).toMatchObject([{ id, version: null }])
  })

  it.each([
    ['in the past', { holdout: 1 }, -1, 'at'],
    ['that is not valid now', { fallbackVariant: 'none' }, 1, 'fallbackVariant'],
    ['with an unknown field', { nothing: 1 }, 1, 'change.nothing'],
  ])('%s are refused', async (_what, change, hours, field) => {
    const { status, body } = await schedule(await create(), change, inHours(hours))
    expect([status, (body.errors as Json[])[0]?.field]).toEqual([422, field])
  })

  it('have a maximum number that wait, also under concurrency', async () => {
    const key = await create()
    const statuses = await Promise.all(
      Array.from(
        { length: MAX_PENDING_CHANGES + 1 },
        async (_, index) => (await schedule(key, { holdout: index })).status,
      ),
    )
    expect(statuses.sort()).toEqual([...Array(MAX_PENDING_CHANGES).fill(201), 422])
    const [oldest] = await listOf(key)
    await world.manage('DELETE', `decisions/${key}/scheduled-changes/${oldest?.id}`)
    await scheduled(key, { holdout: 1 })
  })

  it('are forgotten some time after they were made', async () => {
    const key = await create()
    for (const kept of [200, 201]) {
      const { prisma } = world.platform.db
      const { id: decisionId } = await prisma.decision.findFirstOrThrow({ where: { key } })
      await prisma.scheduledChange.deleteMany({ where: { decisionId } })
      const finished = Array.from({ length: kept }, (_, index) => ({
        id: `01900000-0000-7000-8000-${String(index).padStart(12, '0')}`,
        projectId: world.projectId,
        decisionId,
        at: new Date(),
        change: {},
        status: 'applied',
        scheduledByKind: 'key',
        scheduledById: 'k',
      }))
      await prisma.scheduledChange.createMany({ data: finished })
      await scheduled(key, { holdout: 2 })
      expect(await prisma.scheduledChange.count({ where: { decisionId, status: 'applied' } })).toBe(200)
      await prisma.scheduledChange.deleteMany({ where: { decisionId } })
    }
  })
})
