import type { Exposure, LinkClick } from '@waymark/contracts/records/change-records'
import type { IngestRecord, QueuedRecord } from '@waymark/contracts/records/ingest-record'
import type { RejectedEvent } from '@waymark/contracts/records/quarantine-records'
import { partitionKeyOf } from '@waymark/domain/ingestion'
import type { OutgoingRecord } from '@waymark/event-bus'
import { v5 as uuidv5 } from 'uuid'
import { createRandom } from './random.ts'
import { createShoppers, DEMO_DAYS, type Shopper, type Step, stepsOf } from './shop.ts'

const DAY_MS = 86_400_000
const SEED = 7
const ANONYMOUS_CLICKS = 180
const SHOP_URL = 'https://shop.example'
const COUNTRIES = ['DE', 'DE', 'DE', 'FR', 'NL', 'AT', 'CH', 'IT', 'ES', 'SE', 'GB'] as const
const REFERRERS = {
  newsletter: ['https://mail.google.com/', 'https://outlook.live.com/', null],
  instagram: ['https://l.instagram.com/', 'https://www.instagram.com/', null],
} as const
const BOT = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'

type LinkName = keyof typeof REFERRERS

/** The resources that the demo's records refer to. */
type DemoReferences = {
  projectId: string
  /** The end of the demo data, in ms since the epoch. */
  now: number
  links: Record<LinkName, { id: string; code: string }>
  /** Metering selectors by event name. */
  selectors: { orders: string; signUps: string }
  decision: { id: string; key: string; version: number }
  /** The variant that the decision chooses for a visitor. */
  variants: ReadonlyMap<string, string>
}

type DemoRecords = {
  queued: OutgoingRecord<QueuedRecord>[]
  clicks: OutgoingRecord<LinkClick>[]
  exposures: OutgoingRecord<Exposure>[]
  rejected: OutgoingRecord<RejectedEvent>[]
}

/** The records of all actions in the demo, as on the bus. The same references give the same ids. */
export const createDemoRecords = (references: DemoReferences): DemoRecords => {
  const shoppers = createShoppers()
  const people = shoppers.map((shopper, at) => recordsOf(shopper, at, references))
  return {
    queued: people.flatMap(({ queued }) => queued).sort((a, b) => timeOf(a) - timeOf(b)),
    clicks: [...people.flatMap(({ click }) => click), ...anonymousClicks(references)],
    exposures: people.flatMap(({ exposure }) => exposure),
    rejected: rejectedEvents(references),
  }
}

const timeOf = ({ value }: OutgoingRecord<QueuedRecord>): number => Date.parse(value.receivedAt)

/** Like ids of redirectors, but deterministic: they contain the time and the link. */
const clickIdOf = (projectId: string, name: string, linkId: string, at: number): string => {
  const time = at.toString(16).padStart(12, '0')
  const random = uuidv5(name, projectId)
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(15, 18)}-${random.slice(19, 23)}-${linkId.slice(24)}`
}

const recordsOf = (shopper: Shopper, at: number, references: DemoReferences) => {
  const { projectId, now, links, decision, variants } = references
  const firstAt = Math.floor(now - shopper.firstSeenAgoMs)
  const link = shopper.source.link && links[shopper.source.link]
  const clickId = link && clickIdOf(projectId, shopper.visitorId, link.id, firstAt - 2_000)
  let visitorId = shopper.visitorId
  const queued = stepsOf(shopper, at).map((step, index): OutgoingRecord<QueuedRecord> => {
    const receivedAt = new Date(now - step.agoMs).toISOString()
    const id = uuidv5(`demo-${at}-${index}`, projectId)
    if (step.kind === 'secondDevice') visitorId = shopper.secondVisitorId ?? visitorId
    const value: QueuedRecord =
      step.kind === 'event'
        ? eventOf(step, { shopper, visitorId, receivedAt, id, clickId, references })
        : {
            v: 1,
            kind: 'identify',
            id,
            projectId,
            receivedAt,
            visitorId,
            userId: shopper.userId ?? visitorId,
            traits: step.kind === 'signUp' ? shopper.traits : {},
            verified: true,
          }
    return { key: partitionKeyOf(projectId, { visitorId, eventId: id }), value }
  })
  const click: LinkClick[] =
    link && clickId
      ? [
          {
            v: 1,
            id: clickId,
            projectId,
            linkId: link.id,
            code: link.code,
            clickedAt: new Date(firstAt - 2_000).toISOString(),
            ip: shopper.ip,
            userAgent: shopper.userAgent,
            country: shopper.country,
            referrer: shopper.source.referrer ?? null,
            bot: false,
            prefetch: false,
            visitor: shopper.visitorId,
          },
        ]
      : []
  const exposure: Exposure = {
    v: 1,
    projectId,
    decisionId: decision.id,
    decisionKey: decision.key,
    version: decision.version,
    variant: variants.get(shopper.visitorId) ?? '',
    reason: 'SPLIT',
    ruleId: 'halves',
    subject: shopper.visitorId,
    visitorId: shopper.visitorId,
    userId: null,
    profileId: null,
    exposedAt: new Date(firstAt).toISOString(),
  }
  return {
    queued,
    click: click.map((value) => ({ key: value.linkId, value })),
    exposure: variants.has(shopper.visitorId)
      ? [{ key: `${projectId}:${shopper.visitorId}`, value: exposure }]
      : [],
  }
}

type EventParts = {
  shopper: Shopper
  visitorId: string
  receivedAt: string
  id: string
  clickId: string | undefined
  references: DemoReferences
}

const eventOf = (step: Step & { kind: 'event' }, parts: EventParts): IngestRecord => {
  const { shopper, visitorId, receivedAt, id, clickId, references } = parts
  const { selectors, projectId } = references
  const { name, properties } = step
  const path = typeof properties.path === 'string' ? properties.path : '/'
  const { first, landing } = step
  const query = [landing?.utm, first && clickId && `wm_click=${clickId}`].filter(Boolean).join('&')
  const page =
    name === 'page_view'
      ? {
          url: `${SHOP_URL}${path}${query && `?${query}`}`,
          ...(landing?.referrer && { referrer: landing.referrer }),
        }
      : // The shop keeps the campaign of a visitor until the order.
        name === 'order_placed'
        ? { url: `${SHOP_URL}/thank-you${shopper.source.utm && `?${shopper.source.utm}`}` }
        : {}
  const claim = { amount: null, currency: null, quantity: null }
  const conversions =
    name === 'order_placed'
      ? [{ ...claim, selectorId: selectors.orders, amount: Number(properties.total), currency: 'EUR' }]
      : name === 'signed_up'
        ? [{ ...claim, selectorId: selectors.signUps }]
        : []
  return {
    v: 1,
    kind: 'event',
    projectId,
    receivedAt,
    event: {
      eventId: id,
      eventName: name,
      visitorId,
      ...(step.signedIn && shopper.userId && { userId: shopper.userId }),
      sessionId: `demo-session-${visitorId.slice('demo-visitor-'.length)}-${step.visit + 1}`,
      properties: { ...properties, ...page },
    },
    client: { ip: shopper.ip, userAgent: shopper.userAgent },
    // It must not trigger anything.
    backfill: true,
    ...(conversions.length > 0 && { conversions }),
  }
}

const anonymousClicks = ({ projectId, now, links }: DemoReferences): OutgoingRecord<LinkClick>[] => {
  const random = createRandom(SEED)
  const agents = createShoppers().map(({ userAgent }) => userAgent)
  return Array.from({ length: ANONYMOUS_CLICKS }, (_, at) => {
    const name: LinkName = random.chance(0.65) ? 'newsletter' : 'instagram'
    const link = links[name]
    const clickedAt = Math.floor(now - random.between(0.01, DEMO_DAYS) * DAY_MS)
    const bot = random.chance(0.05)
    const value: LinkClick = {
      v: 1,
      id: clickIdOf(projectId, `click-${at}`, link.id, clickedAt),
      projectId,
      linkId: link.id,
      code: link.code,
      clickedAt: new Date(clickedAt).toISOString(),
      ip: '198.51.100.0',
      userAgent: bot ? BOT : (agents[random.whole(0, agents.length - 1)] ?? null),
      country: random.pick(COUNTRIES),
      referrer: random.pick(REFERRERS[name]),
      bot,
      prefetch: false,
      visitor: `demo-click-${at}`,
    }
    return { key: link.id, value }
  })
}

/** Events that enforce mode would have rejected. */
const rejectedEvents = ({ projectId, now }: DemoReferences): OutgoingRecord<RejectedEvent>[] =>
  [
    { total: '49.90', rule: 'type', field: 'properties.total', message: 'must be an integer' },
    { total: -100, rule: 'minimum', field: 'properties.total', message: 'must be at least 0' },
  ].map(({ total, ...error }, at) => {
    const [shopper] = createShoppers()
    const visitorId = shopper?.visitorId ?? 'demo-visitor-001'
    const rejectedAt = new Date(now - (at + 1) * 5 * 3_600_000).toISOString()
    const id = uuidv5(`demo-rejected-${at}`, projectId)
    const event = {
      eventId: id,
      eventName: 'order_placed',
      visitorId,
      properties: { total, currency: 'EUR' },
    }
    const value: RejectedEvent = {
      v: 1,
      id,
      record: { v: 1, kind: 'event', projectId, receivedAt: rejectedAt, event },
      errors: [{ ...error, actual: `${total}` }],
      rejectedAt,
    }
    return { key: partitionKeyOf(projectId, event), value }
  })
