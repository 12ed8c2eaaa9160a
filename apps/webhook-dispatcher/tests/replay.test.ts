import { services } from '@waymark/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createReplayDeliveries } from '../src/replay-queries.ts'
import { type Harness, openHarness } from './harness.ts'

const url = 'https://shop.example/hook'
const FROM = Date.parse('2026-11-20T00:00:00Z')
const PORTION = 1_000

describe.skipIf(!services)('replaying deliveries', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await openHarness()
  })
  beforeEach(() => harness.db.pool.query('DELETE FROM webhook.webhooks'))
  afterAll(() => harness?.close())

  /** Past deliveries, one each second from `FROM`; `failed` says which of them failed. */
  const fill = async (webhookId: string, count: number, failed = 'false') =>
    harness.db.pool.query(
      `INSERT INTO webhook.deliveries
         (id, project_id, webhook_id, topic, message_key, payload, status, attempts, created_at)
       SELECT gen_random_uuid(), $1, $2, 'event', gen_random_uuid(), '{}',
         CASE WHEN ${failed} THEN 'failed' ELSE 'delivered' END, 1, $3::timestamptz + n * interval '1 s'
       FROM generate_series(0, $4 - 1) AS n`,
      [harness.projectId, webhookId, new Date(FROM), count],
    )
  const start = (webhookId: string, seconds: number, fields: { deliveryStatus?: string } = {}) =>
    harness.db.prisma.webhookReplay.create({
      data: {
        webhookId,
        fromTime: new Date(FROM),
        toTime: new Date(FROM + seconds * 1_000),
        state: 'running',
        reachedTime: new Date(FROM),
        reachedId: '00000000-0000-0000-0000-000000000000',
        ...fields,
      },
    })
  const replayOf = (webhookId: string) => harness.db.prisma.webhookReplay.findUnique({ where: { webhookId } })
  const waiting = (webhookId: string) =>
    harness.db.prisma.webhookDelivery.count({ where: { webhookId, status: 'pending' } })
  /** As if everything that waits was delivered. */
  const deliver = (webhookId: string) =>
    harness.db.prisma.webhookDelivery.updateMany({
      where: { webhookId, status: 'pending' },
      data: { status: 'delivered', nextAttemptAt: null },
    })

  it('reads a portion of the deliveries and not all of them, while none and while some wait', async () => {
    const { id } = await harness.newWebhook({ url })
    await fill(id, 20_000)
    await harness.db.pool.query('ANALYZE webhook.deliveries')
    const plans: string[] = []
    const own = harness.open()
    own.pool.on('connect', (client) => {
      client.on('notice', ({ message }) => plans.push(`${message}`))
      void client.query(
        "LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET client_min_messages = log",
      )
    })
    await start(id, 20_000)
    const replay = createReplayDeliveries({ db: own })
    expect([await replay(), await replay()]).toEqual([PORTION, 0])
    await deliver(id)
    expect(await replay()).toBe(PORTION)
    await own.close()
    expect(plans.length).toBeGreaterThanOrEqual(5)
    expect(plans.filter((plan) => plan.includes('Seq Scan on deliveries'))).toEqual([])
  })

  it('queues portions, each after the one before, and shows the progress', async () => {
    const { id } = await harness.newWebhook({ url })
    await fill(id, 2_500)
    await start(id, 2_400)
    const replay = createReplayDeliveries({ db: harness.db })
    expect(await replay()).toBe(PORTION)
    expect(await replayOf(id)).toMatchObject({
      state: 'running',
      queued: PORTION,
      reachedTime: new Date(FROM + (PORTION - 1) * 1_000),
      finishedAt: null,
    })
    expect(await replay()).toBe(0)
    // One fewer than a portion waits.
    await harness.db.pool.query(
      `UPDATE webhook.deliveries SET status = 'delivered', next_attempt_at = NULL
       WHERE id = (SELECT id FROM webhook.deliveries WHERE status = 'pending' LIMIT 1)`,
    )
    expect(await replay()).toBe(PORTION)
    expect(await replay()).toBe(0)
    await deliver(id)
    expect(await replay()).toBe(400)
    expect(await replayOf(id)).toMatchObject({
      state: 'finished',
      queued: 2_400,
      reachedTime: new Date(FROM + 2_400_000),
      finishedAt: expect.any(Date),
    })
    await deliver(id)
    expect(await replay()).toBe(0)
    const again = await harness.db.prisma.webhookDelivery.count({ where: { webhookId: id, attempts: 0 } })
    expect(again).toBe(2_400)
  })

  it('queues deliveries of one status when asked, and no tests', async () => {
    const { id } = await harness.newWebhook({ url })
    await fill(id, 100, 'n % 10 = 0')
    await harness.enqueue(id, [null], {
      test: true,
      topic: 'test',
      status: 'failed',
      nextAttemptAt: null,
      createdAt: new Date(FROM + 500),
    })
    await start(id, 100, { deliveryStatus: 'failed' })
    expect(await createReplayDeliveries({ db: harness.db })()).toBe(101)
    expect(await replayOf(id)).toMatchObject({ state: 'finished', queued: 10 })
    expect(await waiting(id)).toBe(10)
  })

  it.each([
    [PORTION + 500, 'finished'],
    [PORTION + 501, 'limited'],
  ])('of %i deliveries is %s when 1,500 are allowed', async (count, state) => {
    const { id } = await harness.newWebhook({ url })
    await fill(id, count)
    await start(id, count)
    const replay = createReplayDeliveries({ db: harness.db, maxDeliveries: PORTION + 500 })
    await replay()
    await deliver(id)
    await replay()
    expect(await replayOf(id)).toMatchObject({ state, queued: PORTION + 500 })
    expect(await waiting(id)).toBe(500)
  })

  it('runs once when several processes look at the same time, and those of several webhooks take turns', async () => {
    const webhooks = [await harness.newWebhook({ url }), await harness.newWebhook({ url })]
    for (const { id } of webhooks) {
      await fill(id, 2 * PORTION)
      await start(id, 2 * PORTION)
    }
    const others = Array.from({ length: 4 }, () => harness.open())
    const portions = await Promise.all(others.map((db) => createReplayDeliveries({ db })()))
    await Promise.all(others.map((db) => db.close()))
    const replay = createReplayDeliveries({ db: harness.db })
    while ((await replay()) > 0);
    for (const { id } of webhooks) {
      expect(await replayOf(id)).toMatchObject({ state: 'running', queued: PORTION })
      expect(await waiting(id)).toBe(PORTION)
    }
    expect(portions.reduce((sum, examined) => sum + examined, 0)).toBeLessThanOrEqual(2 * PORTION)
  })

  it('waits while its webhook is paused, and ends when it was canceled', async () => {
    const { id } = await harness.newWebhook({ url, status: 'paused' })
    await fill(id, 10)
    await start(id, 10)
    const replay = createReplayDeliveries({ db: harness.db })
    expect(await replay()).toBe(0)
    await harness.db.prisma.webhook.update({ where: { id }, data: { status: 'active' } })
    await harness.db.prisma.webhookReplay.update({
      where: { webhookId: id },
      data: { state: 'canceled', finishedAt: new Date() },
    })
    expect(await replay()).toBe(0)
    expect(await waiting(id)).toBe(0)
  })
})
