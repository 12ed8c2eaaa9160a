import { randomUUID } from 'node:crypto'
import { createEventWriter, resolveProfiles, storeExposures } from '@waymark/pipeline'
import { readConfig } from '@waymark/service-kit'
import { anEnrichedEvent, eventually, services } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { quotasConfig } from '../src/app.ts'
import { findDueGuards } from '../src/decisions/guard-queries.ts'
import { evaluateDueGuards } from '../src/decisions/guards.ts'
import { type Json, startWorld, type World } from './world.ts'

const HOUR_MS = 60 * 60 * 1_000
const MINUTE_MS = 60 * 1_000

type Stored = Json & { id: string; key: string; version: number }

describe.skipIf(!services)('guards of a decision', () => {
  let world: World
  beforeAll(async () => {
    world = await startWorld()
  })
  afterAll(() => world?.stop())

  const guard = { metric: 'Ordered', worseThan: 10, action: 'rollback' }
  const rampOf = (...percentages: number[]) =>
    percentages.map((percentage, index) => ({
      at: new Date(Date.now() - (percentages.length - index) * HOUR_MS).toISOString(),
      percentage,
    }))
  const aDecision = (rule: Json, more: Json = {}) => ({
    key: `d-${randomUUID()}`,
    status: 'active',
    variants: [
      { key: 'off', value: false },
      { key: 'on', value: true },
    ],
    fallbackVariant: 'off',
    rules: [{ id: 'ramp', variant: 'on', ramp: rampOf(50), guards: [guard], ...rule }],
    metrics: [{ key: 'Ordered', eventName: 'order', kind: 'count', goal: 'up' }],
    ...more,
  })
  const create = async (rule: Json = {}, more: Json = {}): Promise<Stored> => {
    const { status, body } = await world.manage('POST', 'decisions', aDecision(rule, more))
    expect([status, body.errors]).toEqual([201, undefined])
    return body as Stored
  }
  const read = async (key: string): Promise<Json> => (await world.manage('GET', `decisions/${key}`)).body

  /** People who see a variant, of whom some order a minute later. */
  const addPeople = async (
    { id, key }: Stored,
    {
      variant,
      people,
      ordered,
      at = 0,
    }: { variant: 'on' | 'off'; people: number; ordered: number; at?: number },
    reason = variant === 'on' ? 'TARGETING_MATCH' : 'DEFAULT',
  ) => {
    const { db, eventStore, projectConfigs } = world.platform
    const visitors = Array.from({ length: people }, () => `v-${randomUUID()}`)
    const time = (ms: number) => new Date(Date.now() + ms).toISOString()
    const profiles = await resolveProfiles(
      db.pool,
      visitors.map((visitorId) => ({ projectId: world.projectId, visitorId, userId: null })),
    )
    await storeExposures(
      db.pool,
      visitors.map((visitorId, index) => ({
        v: 1 as const,
        projectId: world.projectId,
        decisionId: id,
        decisionKey: key,
        version: 1,
        reason,
        ruleId: reason === 'DEFAULT' ? null : 'ramp',
        variant,
        subject: visitorId,
        visitorId,
        userId: null,
        profileId: profiles[index] ?? null,
        exposedAt: time(at),
      })),
    )
    const writeEvents = createEventWriter({ db, eventStore, projectConfigs })
    await writeEvents(
      visitors.slice(0, ordered).map((visitorId, index) => ({
        ...anEnrichedEvent({
          projectId: world.projectId,
          event: { eventName: 'order', visitorId, properties: {} },
          receivedAt: time(at + MINUTE_MS),
        }),
        profileId: profiles[index] ?? null,
      })),
    )
  }
  /** Makes every guard due, and evaluates them at a time from now. */
  const evaluate = async (after = 10 * MINUTE_MS, processes = 1) => {
    const { db, eventStore, log } = world.platform
    const deps = {
      db,
      eventStore,
      log,
      clock: () => Date.now() + after,
      quotas: readConfig(quotasConfig, {}),
    }
    await Promise.all(
      Array.from({ length: processes }, () => evaluateDueGuards(deps, new AbortController().signal)),
    )
  }
  const historyOf = async (key: string): Promise<Json[]> =>
    (await world.manage('GET', `decisions/${key}/history`)).body.data as Json[]
  const worsen = async (decision: Stored) => {
    await addPeople(decision, { variant: 'on', people: 600, ordered: 60 })
    await addPeople(decision, { variant: 'off', people: 600, ordered: 300 })
  }

  it('roll a ramp back once, with evidence in history, audit log, outbox and an email', async () => {
    const decision = await create()
    const { key } = decision
    await worsen(decision)
    await evaluate(10 * MINUTE_MS, 3)
    const stop = {
      environment: 'production',
      ruleId: 'ramp',
      ...guard,
      variant: 'on',
      control: 'off',
      percentage: 50,
      people: { variant: 600, control: 600 },
      value: { variant: 0.1, control: 0.5 },
    }
    const stopped = await read(key)
    expect(stopped).toMatchObject({ status: 'active', version: 2, stops: [stop] })
    const [newest, first] = await historyOf(key)
    expect(newest).toMatchObject({
      version: 2,
      change: 'stopped',
      evidence: stop,
      changedBy: { kind: 'system' },
    })
    expect(first).toMatchObject({ version: 1, change: 'created' })
    const { prisma } = world.platform.db
    expect(await prisma.auditEntry.count({ where: { operation: 'stopDecision', resourceId: key } })).toBe(1)
    const notices = await prisma.stopNotice.findMany({ where: { decisionId: decision.id } })
    expect(notices).toMatchObject([{ recipient: 'demo@waymark.localhost', evidence: stop }])
    const outbox = await prisma.outboxRecord.findMany({
      where: { topic: 'decisions.changed.v1' },
      orderBy: { id: 'asc' },
    })
    const ofIt = outbox.map(({ value }) => JSON.parse(value)).filter((one) => one.decisionId === decision.id)
    expect(ofIt.at(-1)).toMatchObject({ change: 'stopped', version: 2, evidence: stop })

    // Every process reads it with the configuration of the project.
    await eventually('a process that decides knows it', async () => {
      const { decisions } = (await world.platform.projectConfigs.get(world.projectId)) ?? {}
      return decisions?.get(key)?.rules[0]?.stoppedAt === 0
    })
    // Nobody gets the variant any more.
    const preview = await world.manage('POST', `decisions/${key}/preview`, { visitorId: 'v-1' })
    expect(preview.body).toMatchObject({ answer: { variant: 'off' }, rules: [{ rollout: { below: 0 } }] })

    await evaluate()
    expect(await read(key)).toMatchObject({ version: 2 })
  })

  it('do nothing while the metric is as good, or with too few people', async () => {
    const good = await create()
    await addPeople(good, { variant: 'on', people: 600, ordered: 290 })
    await addPeople(good, { variant: 'off', people: 600, ordered: 300 })
    const few = await create()
    await addPeople(few, { variant: 'on', people: 99, ordered: 0 })
    await addPeople(few, { variant: 'off', people: 900, ordered: 900 })
    await evaluate()
    expect(await read(good.key)).toMatchObject({ version: 1 })
    expect(await read(few.key)).toMatchObject({ version: 1 })
  })

  it('turn a decision off, which only a reason turns on again', async () => {
    const decision = await create({ guards: [{ ...guard, action: 'pause' }] })
    const { key } = decision
    await worsen(decision)
    await evaluate()
    expect(await read(key)).toMatchObject({ status: 'paused', version: 2, stops: [{ action: 'pause' }] })

    expect(await world.manage('POST', `decisions/${key}/activate`)).toMatchObject({
      status: 409,
      body: {
        error: 'A guard has turned the decision off in production: resume it with a reason (POST resume)',
      },
    })
    expect((await world.manage('PATCH', `decisions/${key}`, { status: 'active' })).status).toBe(409)
    expect((await world.manage('POST', `decisions/${key}/resume`, { reason: ' ' })).status).toBe(422)
    expect(
      (await world.manage('POST', `decisions/${key}/resume`, { reason: 'x'.repeat(1_001) })).status,
    ).toBe(422)

    const resumed = await world.manage('POST', `decisions/${key}/resume`, { reason: 'x'.repeat(1_000) })
    expect(resumed).toMatchObject({ status: 200, body: { status: 'active', version: 3 } })
    expect(resumed.body).not.toHaveProperty('stops')
    expect((await historyOf(key))[0]).toMatchObject({ change: 'resumed', reason: 'x'.repeat(1_000) })
    expect((await world.manage('POST', `decisions/${key}/resume`, { reason: 'again' })).status).toBe(409)

    // What was known before does not stop it again.
    await evaluate()
    expect(await read(key)).toMatchObject({ version: 3 })
  })

  it('hold a ramp, also when its rule is edited, and go on from there', async () => {
    const decision = await create({
      ramp: [...rampOf(5), { at: new Date(Date.now() + 5 * MINUTE_MS).toISOString(), percentage: 100 }],
      guards: [{ ...guard, action: 'hold' }],
    })
    const { key } = decision
    await worsen(decision)
    await evaluate(4 * MINUTE_MS)
    expect(await read(key)).toMatchObject({ stops: [{ action: 'hold', percentage: 5 }] })
    await world.manage('PATCH', `decisions/${key}`, { name: 'New name' })
    expect(await read(key)).toMatchObject({ version: 3, stops: [{ action: 'hold' }] })
  })

  it('begin the next step of a ramp once it has its people', async () => {
    const [first, second] = rampOf(50, 75)
    const decision = await create({ ramp: [{ ...first, minPeople: 100 }, second] })
    const below = async () => {
      const { body } = await world.manage('POST', `decisions/${decision.key}/preview`, { visitorId: 'v-1' })
      return (body as { rules: { rollout: { below: number } }[] }).rules[0]?.rollout.below
    }
    await addPeople(decision, { variant: 'on', people: 99, ordered: 50 })
    await addPeople(decision, { variant: 'off', people: 100, ordered: 50 })
    await evaluate()
    expect(await read(decision.key)).toMatchObject({ version: 1 })
    expect(await below()).toBe(5_000)
    await addPeople(decision, { variant: 'on', people: 1, ordered: 0 })
    await world.platform.db.prisma.decision.update({
      where: { id: decision.id },
      data: { guardsDueAt: new Date(0) },
    })
    // At the present time, so that the step begins now. The service may be first.
    await evaluate(0)
    await eventually('the next step', async () => (await read(decision.key)).version === 2)
    expect((await historyOf(decision.key))[0]).toMatchObject({
      version: 2,
      change: 'advanced',
      evidence: { step: 1, percentage: 75, people: { on: 100, off: 100 } },
    })
    expect(await below()).toBe(7_500)
    await evaluate()
    expect(await read(decision.key)).toMatchObject({ version: 2 })
  })

  it('compare the variants of a split, in their own environment', async () => {
    const split = [
      { variant: 'off', weight: 1 },
      { variant: 'on', weight: 1 },
    ]
    const rule = { id: 'ramp', split, guards: [{ ...guard, action: 'pause' }] }
    const decision = await create({}, { rules: [rule] })
    await addPeople(decision, { variant: 'on', people: 600, ordered: 60 }, 'SPLIT')
    await addPeople(decision, { variant: 'off', people: 600, ordered: 300 }, 'SPLIT')
    await evaluate()
    expect(await read(decision.key)).toMatchObject({
      status: 'paused',
      stops: [{ percentage: 100, variant: 'on', control: 'off', people: { variant: 600, control: 600 } }],
    })
  })

  it('are evaluated in turns of the projects', async () => {
    const { prisma } = world.platform.db
    const { tenantId } = await prisma.project.findUniqueOrThrow({ where: { id: world.projectId } })
    const add = async (name: string, decisions: number, due: number) => {
      const { id: projectId } = await prisma.project.create({ data: { id: uuidv7(), tenantId, name } })
      const ids = Array.from({ length: decisions }, () => uuidv7())
      for (const id of ids)
        await prisma.decision.create({
          // A draft, which nothing is done with.
          data: { id, projectId, key: id, status: 'draft', definition: {}, guardsDueAt: new Date(due) },
        })
      return ids
    }
    const now = Date.now() + 24 * HOUR_MS
    const many = await add('many', 8, now - 2)
    const few = await add('few', 1, now - 1)
    await prisma.decision.updateMany({
      where: { projectId: world.projectId },
      data: { guardsDueAt: null },
    })
    expect(await findDueGuards(prisma, new Date(now), 20)).toEqual([many[0], ...few, ...many.slice(1, 5)])
    expect(await findDueGuards(prisma, new Date(now), 2)).toEqual([many[0], ...few])
    expect(await findDueGuards(prisma, new Date(now - 3), 20)).toEqual([])
    await prisma.decision.deleteMany({ where: { id: { in: [...many, ...few] } } })
  })

  it('of net revenue count discounts that were not rolled back', async () => {
    const { body: selector } = await world.manage('POST', 'metering-selectors', {
      eventName: 'paid',
      amountProperty: 'total',
      currencyProperty: 'currency',
    })
    const decision = await create(
      { guards: [{ ...guard, metric: 'Net' }] },
      { metrics: [{ key: 'Net', selectorId: selector.id, property: 'net', kind: 'sum', goal: 'up' }] },
    )
    const { db, eventStore, projectConfigs } = world.platform
    const writeEvents = createEventWriter({ db, eventStore, projectConfigs })
    const poolId = uuidv7()
    const pay = async (variant: 'on' | 'off') => {
      await addPeople(decision, { variant, people: 150, ordered: 0 })
      const exposed = await db.prisma.exposure.findMany({ where: { decisionId: decision.id, variant } })
      await writeEvents(
        exposed.map(({ profileId, subject, exposedAt }, index) => ({
          ...anEnrichedEvent({
            projectId: world.projectId,
            conversions: [
              { selectorId: String(selector.id), amount: 1_000 + index, currency: 'EUR', quantity: null },
            ],
            event: { eventName: 'paid', visitorId: subject, properties: {} },
            receivedAt: new Date(exposedAt.getTime() + MINUTE_MS).toISOString(),
          }),
          profileId,
        })),
      )
    }
    const discount = (variant: string, rolledBack: number) =>
      db.pool.query(
        `INSERT INTO coupon.redemptions (id, project_id, pool_id, coupon_id, profile_id, event_id, metadata,
           redeemed_at, currency, discount_amount, rolled_back_amount)
         SELECT gen_random_uuid(), project_id, $2, gen_random_uuid(), profile_id, 'e', '{}',
           exposed_at + interval '1 minute', 'EUR', 500, $3
         FROM decision.exposures WHERE decision_id = $1 AND variant = $4`,
        [decision.id, poolId, rolledBack, variant],
      )
    await pay('on')
    await pay('off')
    await discount('off', 500)
    await evaluate()
    expect(await read(decision.key)).toMatchObject({ version: 1 })
    await discount('on', 100)
    await evaluate(20 * MINUTE_MS)
    // 1,074.50 on average, less 400.
    expect(await read(decision.key)).toMatchObject({
      stops: [{ metric: 'Net', value: { variant: 674.5, control: 1_074.5 } }],
    })
  })

  it('complete after a process was killed while it evaluated', async () => {
    const decision = await create()
    await worsen(decision)
    const { prisma } = world.platform.db
    // The claim of a process that is gone.
    const claim = new Date(Date.now() + 60_000)
    await prisma.decision.update({ where: { id: decision.id }, data: { guardsDueAt: claim } })
    await evaluate(30_000)
    expect(await read(decision.key)).toMatchObject({ version: 1 })
    await evaluate(10 * MINUTE_MS)
    await evaluate(20 * MINUTE_MS)
    expect(await read(decision.key)).toMatchObject({ version: 2 })
    expect(await prisma.stopNotice.count({ where: { decisionId: decision.id } })).toBe(1)
  })

  it('do nothing at all when a part of a stop cannot be stored', async () => {
    const decision = await create()
    await worsen(decision)
    const { prisma } = world.platform.db
    await prisma.$executeRawUnsafe(
      `ALTER TABLE decision.stop_notices ADD CONSTRAINT broken CHECK (decision_id <> '${decision.id}') NOT VALID`,
    )
    await expect(evaluate()).rejects.toThrow()
    expect(await read(decision.key)).toMatchObject({ version: 1 })
    expect(
      await prisma.auditEntry.count({ where: { operation: 'stopDecision', resourceId: decision.key } }),
    ).toBe(0)
    await prisma.$executeRawUnsafe('ALTER TABLE decision.stop_notices DROP CONSTRAINT broken')
    await evaluate(20 * MINUTE_MS)
    expect(await read(decision.key)).toMatchObject({ version: 2 })
  })
})
