import { createMemoryCache } from '@waymark/cache'
import type { LinkClick } from '@waymark/contracts/records/change-records'
import type { CouponRedemptionRecord } from '@waymark/contracts/records/coupon-redemption'
import { couponsRedeemed, enrichedEvents, linkClicks } from '@waymark/contracts/topics'
import { eventMessages, linkClickMessage, redemptionMessage } from '@waymark/domain/webhook'
import type { Delivery } from '@waymark/event-bus'
import { createPurger, eraseProfile } from '@waymark/pipeline'
import { anEnrichedEvent, seededRandom, services } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createReadWebhooks } from '../src/read-webhooks.ts'
import { createStoreDeliveries } from '../src/store-deliveries.ts'
import { type Harness, openHarness } from './harness.ts'

const url = 'https://shop.example/hook'

describe.skipIf(!services)('storing deliveries', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await openHarness()
  })
  beforeEach(() => harness.db.pool.query('DELETE FROM webhook.webhooks'))
  afterAll(() => harness?.close())

  const deliveriesOf = <T>(topic: string, values: readonly T[]): Delivery<T>[] =>
    values.map((value, index) => ({
      topic,
      partition: 0,
      offset: BigInt(index),
      key: null,
      value,
      headers: {},
    }))
  /** The handlers of a process, with connections of its own. */
  const openConsumer = () => {
    const db = harness.open()
    const store = createStoreDeliveries({ db, readWebhooks: createReadWebhooks(db.pool) })
    return { db, store }
  }
  const handle = async (events: readonly ReturnType<typeof anEnrichedEvent>[]) => {
    const { db, store } = openConsumer()
    await store(eventMessages)(deliveriesOf(enrichedEvents.name, events)).finally(() => db.close())
  }
  const anEvent = (fields: Record<string, unknown> = {}, projectId = harness.projectId) => ({
    ...anEnrichedEvent({ projectId }),
    ...fields,
  })

  it('stores one delivery per webhook and event, even if the batch is repeated in other processes', async () => {
    const webhooks = [await harness.newWebhook({ url }), await harness.newWebhook({ url })]
    const events = Array.from({ length: 50 }, () => anEvent({ profileId: uuidv7() }))
    const consumers = Array.from({ length: 4 }, openConsumer)
    const { shuffled } = seededRandom()
    const repeat = ({ store }: ReturnType<typeof openConsumer>) =>
      store(eventMessages)(deliveriesOf(enrichedEvents.name, shuffled([...events, ...events])))
    await Promise.all(consumers.map(repeat))
    await Promise.all(consumers.map(repeat))
    await Promise.all(consumers.map(({ db }) => db.close()))
    for (const { id } of webhooks) {
      const rows = await harness.rows(id)
      expect(rows).toHaveLength(50)
      expect(new Set(rows.map(({ payload }) => JSON.parse(payload).data.eventId)).size).toBe(50)
      expect(
        rows.every(({ status, next_attempt_at }) => status === 'pending' && next_attempt_at !== null),
      ).toBe(true)
    }
  })

  it('stores events, conversions, clicks and redemptions for the webhooks of their topics', async () => {
    const all = await harness.newWebhook({
      url,
      topics: ['event', 'conversion', 'link.clicked', 'coupon.redeemed'],
    })
    const clicks = await harness.newWebhook({ url, topics: ['link.clicked'] })
    const now = new Date().toISOString()
    const { db, store } = openConsumer()
    const conversion = { selectorId: uuidv7(), amount: 5, currency: 'EUR', quantity: null }
    await store(eventMessages)(deliveriesOf(enrichedEvents.name, [anEvent({ conversions: [conversion] })]))
    const click = {
      v: 1,
      id: uuidv7(),
      projectId: harness.projectId,
      linkId: uuidv7(),
      code: 'abc',
      clickedAt: now,
    }
    await store((one: LinkClick) => [linkClickMessage(one)])(deliveriesOf(linkClicks.name, [click as never]))
    const redemption = {
      v: 1,
      projectId: harness.projectId,
      redemptionId: uuidv7(),
      code: 'SAVE',
      at: now,
      profileId: null,
      visitorId: 'v',
      userId: null,
    }
    await store((one: CouponRedemptionRecord) => [redemptionMessage(one)])(
      deliveriesOf(couponsRedeemed.name, [
        { ...redemption, kind: 'redeemed' } as never,
        { ...redemption, kind: 'rolled_back' } as never,
      ]),
    )
    await db.close()
    const types = async (id: string) =>
      (await harness.rows(id)).map(({ payload }) => JSON.parse(payload).type).sort()
    expect(await types(all.id)).toEqual([
      'conversion',
      'coupon.redeemed',
      'coupon.rolled_back',
      'event',
      'link.clicked',
    ])
    expect(await types(clicks.id)).toEqual(['link.clicked'])
  })

  it('stores nothing for another project, a paused webhook, or what came before it was activated', async () => {
    const other = await harness.newWebhook({ url, projectId: await harness.newProject() })
    const paused = await harness.newWebhook({ url, status: 'paused' })
    const later = await harness.newWebhook({ url, activatedAt: new Date(Date.now() + 60_000) })
    const filtered = await harness.newWebhook({
      url,
      filter: { '==': [{ var: 'event.eventName' }, 'other'] },
    })
    const named = await harness.newWebhook({ url, eventNames: ['other'] })
    await handle([anEvent(), anEvent({ backfill: true })])
    for (const { id } of [other, paused, later, filtered, named]) expect(await harness.rows(id)).toEqual([])
  })

  it('applies a changed filter to the next batch', async () => {
    const { id } = await harness.newWebhook({ url, filter: { '==': [{ var: 'properties.plan' }, 'paid'] } })
    const { db, store } = openConsumer()
    const handler = store(eventMessages)
    await handler(deliveriesOf(enrichedEvents.name, [anEvent({ properties: { plan: 'free' } })]))
    expect(await harness.rows(id)).toHaveLength(0)
    await harness.db.prisma.webhook.update({
      where: { id },
      data: { filter: { '==': [{ var: 'properties.plan' }, 'free'] }, version: { increment: 1 } },
    })
    await handler(deliveriesOf(enrichedEvents.name, [anEvent({ properties: { plan: 'free' } })]))
    expect(await harness.rows(id)).toHaveLength(1)
    await db.close()
  })

  it('stores no message about a person who was erased, and deletes what was stored', async () => {
    const { id } = await harness.newWebhook({ url, topics: ['event', 'link.clicked'] })
    const profileId = uuidv7()
    const visitorId = `v-${profileId}`
    const { prisma } = harness.db
    await prisma.profile.create({
      data: { id: profileId, projectId: harness.projectId, bucketingId: profileId, traits: {} },
    })
    await prisma.identity.create({
      data: { projectId: harness.projectId, kind: 'visitor', value: visitorId, profileId },
    })
    const event = anEvent({ visitorId, profileId })
    const another = anEvent({ visitorId: 'somebody else', profileId: uuidv7() })
    await handle([event, another])
    expect(await harness.rows(id)).toHaveLength(2)
    const job = await eraseProfile(
      { db: harness.db, now: Date.now },
      { projectId: harness.projectId, profileId },
    )
    if (!job) throw new Error('the profile is missing')
    const nothing = async () => {}
    async function* none(): AsyncGenerator<never, void, undefined> {}
    const purger = createPurger({
      db: harness.db,
      eventStore: { eraseEvents: nothing, eraseProfiles: nothing, readEvents: none, readPlaces: none },
      cache: createMemoryCache(),
    })
    expect(await purger.purge(job, new AbortController().signal)).toBe(true)
    expect((await harness.rows(id)).map(({ profile_id }) => profile_id)).toEqual([another.profileId])
    await handle([anEvent({ visitorId, profileId, receivedAt: event.receivedAt })])
    expect(await harness.rows(id)).toHaveLength(1)
  })
})
