import { setTimeout as sleep } from 'node:timers/promises'
import { exposures, ingestRecords, linkClicks, rejectedEvents } from '@waymark/contracts/topics'
import {
  beginDemoData,
  type DemoData,
  type DemoResourceKind,
  findDemoData,
  updateDemoData,
} from '@waymark/project-config'
import type { Platform, Scope } from '@waymark/service-kit'
import type { Demo } from '../demo-file.ts'
import { createDemoRecords } from './records.ts'
import { resources } from './resources.ts'
import { createShoppers } from './shop.ts'

type Deps = Pick<Platform, 'db' | 'eventStore' | 'bus' | 'clock'> & {
  /** Whether emails are written to files. Otherwise none is sent to the people of the demo. */
  mailsToFiles: boolean
}
type Name = `${DemoResourceKind}:${string}`

const REDEEMED = 6
const ASSIGNED = 10
const MAILED = 3
const WELCOMED = 5
const POLL_MS = 100

/** Whether a project has events. */
const hasEvents = async (eventStore: Deps['eventStore'], projectId: string): Promise<boolean> => {
  for await (const { places } of eventStore.readPlaces({ projectId, portion: () => 1 }))
    if (places.length > 0) return true
  return false
}

/**
 * Adds the demo data once, at the first start or at a later one if that was interrupted. Does nothing if it was
 * removed, or if the project has other events.
 * @throws when a store does not answer; the next start continues
 */
const addDemoData = async (
  { db, eventStore, bus, clock, mailsToFiles }: Deps,
  { projectId, baseUrl, apiKey, isNew }: Demo,
  signal: AbortSignal,
): Promise<void> => {
  const found = await findDemoData(db, projectId)
  if (found?.completedAt || found?.removedAt) return
  if (!found && (!isNew || (await hasEvents(eventStore, projectId)))) return
  const data = found ?? (await begin(db, projectId, clock()))
  const api = createApi({ baseUrl, apiKey, projectId, signal })
  const known: Record<string, string> = { ...data.resources }

  const ensure = async (name: Name, path: string, body: unknown): Promise<string> => {
    const existing = known[name]
    if (existing !== undefined) return existing
    const { id } = await api.post<{ id: string }>(path, body)
    known[name] = id
    await updateDemoData(db, projectId, { resources: known })
    return id
  }

  const links = {
    newsletter: {
      id: await ensure('link:newsletter', 'links', resources.newsletter),
      code: resources.newsletter.code,
    },
    instagram: {
      id: await ensure('link:instagram', 'links', resources.instagram),
      code: resources.instagram.code,
    },
  }
  const orders = await ensure('meteringSelector:orders', 'metering-selectors', resources.orders)
  const signUps = await ensure('meteringSelector:signUps', 'metering-selectors', resources.signUps)
  for (const definition of resources.definitions)
    await ensure(`eventDefinition:${definition.name}`, 'event-definitions', definition)
  await ensure('pool:shipping', 'coupon-pools', resources.promotion)
  const giftPoolId = await ensure('pool:giftCards', 'coupon-pools', resources.giftCards)
  const poolId = await ensure('pool:welcome', 'coupon-pools', resources.pool)
  const rules = [{ ...resources.earning, selectorId: orders }]
  await ensure('loyaltyProgramme:club', 'loyalty-programmes', { ...resources.programme, rules })
  const { decision, revenue } = resources
  const metrics = [...decision.metrics, { ...revenue, selectorId: orders }]
  const decisionId = await ensure('decision:banner', 'decisions', { ...decision, metrics })
  const status = mailsToFiles ? 'active' : 'draft'
  await ensure('emailTrigger:thanks', 'email-triggers', { ...resources.trigger, status })
  await ensure('suppression:one', 'suppressions', resources.suppression)
  const insightIds: string[] = []
  for (const insight of resources.insights)
    insightIds.push(await ensure(`insight:${insight.name}`, 'insights', insight))
  await ensure('dashboard:shop', 'dashboards', { name: 'Shop', insightIds })

  const shoppers = createShoppers()
  const { key } = decision
  const variants = new Map<string, string>()
  for (const { visitorId } of shoppers) {
    const { answer } = await api.post<{ answer: { variant: string } }>(`decisions/${key}/preview`, {
      visitorId,
    })
    variants.set(visitorId, answer.variant)
  }
  const records = createDemoRecords({
    projectId,
    now: data.createdAt.getTime(),
    links,
    selectors: { orders, signUps },
    decision: { id: decisionId, key, version: 1 },
    variants,
  })
  await bus.publish(linkClicks, records.clicks)
  await bus.publish(ingestRecords, records.queued)
  await bus.publish(exposures, records.exposures)
  await bus.publish(rejectedEvents, records.rejected)

  const members = shoppers.flatMap(({ userId, visitorId }) => (userId ? [{ userId, visitorId }] : []))
  await handOutCoupons(
    api,
    poolId,
    members.map(({ userId }) => userId),
  )
  await useGiftCards(api, giftPoolId, members[0]?.userId)
  await usePoints(
    api,
    members.map(({ userId }) => userId),
  )
  for (const [at, { userId, visitorId }] of members.slice(0, MAILED).entries())
    await api.track({
      eventId: `demo-order-event-${at + 1}`,
      eventName: 'order_placed',
      visitorId,
      userId,
      properties: { total: 6_490 + at * 2_500, currency: 'EUR', userAgent: shoppers[0]?.userAgent },
    })
  await updateDemoData(db, projectId, { completedAt: new Date(clock()) })
}

/** Adds the demo data while the process serves requests, until the process stops. */
export const addDemoDataInBackground = (
  platform: Deps & Pick<Platform, 'log'>,
  demo: Demo,
  scope: Scope,
): void => {
  const stop = new AbortController()
  const added = addDemoData(platform, demo, stop.signal).catch((error: unknown) => {
    if (!stop.signal.aborted)
      platform.log.warn({ err: error }, 'Demo data could not be added; the next start tries again')
  })
  scope.onStop('demo data', () => {
    stop.abort()
    return added
  })
}

const begin = async (db: Deps['db'], projectId: string, now: number): Promise<DemoData> => {
  const shoppers = createShoppers()
  const data = {
    projectId,
    visitorIds: shoppers.flatMap(({ visitorId, secondVisitorId }) =>
      secondVisitorId ? [visitorId, secondVisitorId] : [visitorId],
    ),
    userIds: shoppers.flatMap(({ userId }) => userId ?? []),
    createdAt: new Date(now),
  }
  await beginDemoData(db, data)
  return { ...data, resources: {}, completedAt: null, removedAt: null }
}

type Api = ReturnType<typeof createApi>

const poolIsReady = async (api: Api, poolId: string): Promise<void> => {
  while ((await api.get<{ status: string }>(`coupon-pools/${poolId}`)).status !== 'ready')
    await api.pause(POLL_MS)
}

/** Some members of the shop get a code, and some of them redeem it. */
const handOutCoupons = async (api: Api, poolId: string, userIds: readonly string[]): Promise<void> => {
  await poolIsReady(api, poolId)
  for (const [at, userId] of userIds.slice(0, ASSIGNED).entries()) {
    const { code } = await api.post<{ code: string }>(`coupon-pools/${poolId}/assign`, { userId })
    if (at >= REDEEMED) continue
    const order = { orderId: `demo-order-${at + 1}`, amount: 9_990 + at * 1_500, currency: 'EUR' }
    await api.redeem({ code, userId, ...order })
  }
}

/** One member pays two orders with gift cards, and cards are topped up and transferred. Repeats move nothing. */
const useGiftCards = async (api: Api, poolId: string, userId: string | undefined): Promise<void> => {
  await poolIsReady(api, poolId)
  const { data } = await api.get<{ data: { id: string; code: string }[] }>(`coupons?poolId=${poolId}&limit=5`)
  const [first, second, third, fourth, fifth] = data
  if (!first || !second || !third || !fourth || !fifth) throw new Error(`Pool ${poolId} lacks gift cards`)
  const pay = ({ code }: { code: string }, orderId: string, amount: number) =>
    api.redeem({ code, userId, orderId, amount, currency: 'EUR' })
  await pay(first, 'demo-gift-order-1', 3_490)
  await pay(second, 'demo-gift-order-2', 6_290)
  const refund = { orderId: 'demo-gift-order-2', amount: 2_000, reason: 'One item returned' }
  await api.post(`gift-cards/${second.id}/refund`, refund)
  const topUp = { amount: 2_500, key: 'demo-top-up', reason: 'Topped up at the till' }
  await api.post(`gift-cards/${third.id}/top-up`, topUp)
  const transfer = { to: fifth.code, key: 'demo-transfer', reason: 'Lost card replaced' }
  await api.post(`gift-cards/${fourth.id}/transfer`, transfer)
}

/** Some members get welcome points, and one of them spends some on an order. Repeats move nothing. */
const usePoints = async (api: Api, userIds: readonly string[]): Promise<void> => {
  const { key: programme } = resources.programme
  for (const userId of userIds.slice(0, WELCOMED)) {
    const welcome = { userId, points: 600, key: `demo-welcome-${userId}`, reason: 'Welcome' }
    await api.post(`loyalty-programmes/${programme}/adjust`, welcome)
  }
  const [userId] = userIds
  const order = { orderId: 'demo-points-order', amount: 4_990, currency: 'EUR' }
  await api.redeem({ userId, ...order, points: { programme, points: 500 } })
}

type ApiOptions = { baseUrl: string; apiKey: string; projectId: string; signal: AbortSignal }

/** The API of this process with the demo project's server key. */
const createApi = ({ baseUrl, apiKey, projectId, signal }: ApiOptions) => {
  const request = async <T>(
    path: string,
    { headers, ...init }: RequestInit & { headers?: Record<string, string> },
  ): Promise<T> => {
    const response = await fetch(`${baseUrl}${path}`, {
      ...init,
      signal,
      headers: { 'X-API-Key': apiKey, 'Content-Type': 'application/json', ...headers },
    })
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
    return (await response.json()) as T
  }
  const project = `/api/projects/${projectId}`
  return {
    get: <T>(path: string) => request<T>(`${project}/${path}`, {}),
    post: <T>(path: string, body: unknown) =>
      request<T>(`${project}/${path}`, { method: 'POST', body: JSON.stringify(body) }),
    track: (event: Record<string, unknown>) =>
      request('/api/v1/t?sync=1', { method: 'POST', body: JSON.stringify(event) }),
    /** The order id makes a repeated redemption idempotent. */
    redeem: ({ orderId, ...body }: { orderId: string } & Record<string, unknown>) =>
      request('/api/v1/coupons/redeem', {
        method: 'POST',
        body: JSON.stringify({ orderId, ...body }),
        headers: { 'Idempotency-Key': orderId },
      }),
    pause: (ms: number) => sleep(ms, undefined, { signal }),
  }
}
