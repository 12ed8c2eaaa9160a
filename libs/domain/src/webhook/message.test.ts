import type { LinkClick } from '@waymark/contracts/records/change-records'
import type { CouponRedemptionRecord } from '@waymark/contracts/records/coupon-redemption'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { describe, expect, it } from 'vitest'
import { WorkBudget } from '../logic/work-budget.ts'
import {
  alertMessage,
  auditMessage,
  cardMovementMessage,
  compileWebhook,
  decisionMessage,
  emailMessage,
  eventMessages,
  isFor,
  linkClickMessage,
  redemptionMessage,
  type StoredWebhook,
} from './message.ts'

const PROJECT = '01900000-0000-7000-8000-000000000001'
const SELECTOR = '01900000-0000-7000-8000-000000000002'
const PROPOSAL = '0198c2de-0000-7000-8000-0000000000d1'
const PROFILE = '01900000-0000-7000-8000-000000000003'
const RECEIVED = '2026-11-21T04:00:00.000Z'

const anEvent = (fields: Partial<EnrichedEvent> = {}) =>
  ({
    v: 1,
    projectId: PROJECT,
    eventId: 'e1',
    eventName: 'order_placed',
    visitorId: 'v1',
    userId: null,
    properties: { total: 100 },
    receivedAt: RECEIVED,
    timestamp: '2026-11-21T03:59:59.000Z',
    profileId: PROFILE,
    backfill: false,
    warnings: [],
    conversions: [{ selectorId: SELECTOR, amount: 100, currency: 'EUR', quantity: null }],
    ...fields,
  }) as EnrichedEvent
const aClick = { v: 1, projectId: PROJECT, id: PROFILE, code: 'abc', clickedAt: RECEIVED } as LinkClick
const aRedemption = (kind: 'redeemed' | 'rolled_back') =>
  ({
    v: 1,
    kind,
    projectId: PROJECT,
    redemptionId: 'r1',
    profileId: null,
    visitorId: 'v1',
    userId: null,
    at: RECEIVED,
  }) as CouponRedemptionRecord

const matching = (fields: Partial<StoredWebhook>, messages = eventMessages(anEvent())) => {
  const webhook = compileWebhook({
    id: 'w1',
    projectId: PROJECT,
    version: 1,
    topics: ['event', 'conversion', 'link.clicked', 'coupon.redeemed'],
    eventNames: [],
    filter: null,
    activatedAt: new Date(RECEIVED),
    ...fields,
  })
  return messages.filter((message) => isFor(message, webhook, new WorkBudget())).map(({ topic }) => topic)
}

describe('the messages of webhooks', () => {
  it('of an event are itself and its conversions, with keys of their own', () => {
    const messages = eventMessages(anEvent())
    expect(messages.map(({ topic }) => topic)).toEqual(['event', 'conversion'])
    expect(new Set(messages.map(({ key }) => key)).size).toBe(2)
    const [event, conversion] = messages
    expect(event?.data).toMatchObject({ eventId: 'e1', properties: { total: 100 } })
    expect(event?.data).not.toHaveProperty('projectId')
    expect(conversion?.data).toMatchObject({ selectorId: SELECTOR, amount: 100, event: { eventId: 'e1' } })
    expect(eventMessages(anEvent())).toEqual(messages)
  })

  it('are none for a backfill', () => {
    expect(eventMessages(anEvent({ backfill: true }))).toEqual([])
  })

  it('distinguish a redemption from its rollback', () => {
    const [redeemed, rolledBack] = [aRedemption('redeemed'), aRedemption('rolled_back')].map(
      redemptionMessage,
    )
    expect([redeemed?.type, rolledBack?.type]).toEqual(['coupon.redeemed', 'coupon.rolled_back'])
    expect(redeemed?.key).not.toBe(rolledBack?.key)
  })

  it('of gift cards say what moved, in the order of the card', () => {
    const spent = cardMovementMessage({
      v: 1,
      kind: 'spent',
      projectId: PROJECT,
      movementId: 'm',
      poolId: 'p',
      couponId: 'c',
      toCouponId: null,
      cards: 1,
      amount: 1_250,
      currency: 'EUR',
      orderId: 'o',
      profileId: null,
      visitorId: null,
      userId: 'ann',
      at: RECEIVED,
    })
    expect(spent).toMatchObject({
      topic: 'gift_card.moved',
      type: 'gift_card.spent',
      key: 'm',
      orderingKey: 'c',
    })
    expect(spent.data).toMatchObject({ amount: 1_250, orderId: 'o' })
  })

  it('of an unknown kind of a newer version have its name, and are unique', () => {
    const later = { ...aRedemption('redeemed'), kind: 'extended' } as unknown as CouponRedemptionRecord
    const messages = [later, { ...later, at: '2026-11-22T04:00:00.000Z' }, later].map(redemptionMessage)
    expect(messages.map(({ type }) => type)).toEqual(Array.from({ length: 3 }, () => 'coupon.extended'))
    expect(messages[0]?.key).not.toBe(messages[1]?.key)
    expect(messages[0]?.key).toBe(messages[2]?.key)
  })

  it('of one person have the same ordering key, and those of a click none', () => {
    const keys = eventMessages(anEvent()).map(({ orderingKey }) => orderingKey)
    expect(keys).toEqual([PROFILE, PROFILE])
    const unknown = eventMessages(anEvent({ profileId: null }))[0]?.orderingKey
    expect(unknown).toBe(redemptionMessage(aRedemption('redeemed')).orderingKey)
    expect(unknown).not.toBe(eventMessages(anEvent({ profileId: null, userId: 'v1' }))[0]?.orderingKey)
    expect(linkClickMessage(aClick).orderingKey).toBeNull()
  })
})

describe('the messages of what is not an event', () => {
  it('are changes of decisions, one for each version and in their order', () => {
    const change = {
      v: 1 as const,
      projectId: PROJECT,
      decisionId: SELECTOR,
      decisionKey: 'button',
      version: 2,
      change: 'updated',
      status: 'active',
      changedBy: { kind: 'user', id: PROFILE },
      at: RECEIVED,
    }
    const message = decisionMessage(change)
    expect(message).toMatchObject({
      type: 'decision.changed',
      orderingKey: SELECTOR,
      data: { version: 2, change: 'updated' },
    })
    expect(message.data).not.toHaveProperty('projectId')
    expect(
      ['stopped', 'advanced', 'resumed', 'paused'].map(
        (made) => decisionMessage({ ...change, change: made }).type,
      ),
    ).toEqual(['decision.stopped', 'decision.advanced', 'decision.resumed', 'decision.changed'])
    const proposal = { id: PROPOSAL, revision: 1 }
    const about = (more: object) => decisionMessage({ ...change, change: 'proposed', proposal, ...more })
    expect(about({}).type).toBe('decision.proposed')
    const others = [{}, { change: 'proposal_edited' }, { proposal: { ...proposal, revision: 2 } }]
    expect(new Set([message, ...others.map(about)].map(({ key }) => key)).size).toBe(4)
    expect(decisionMessage({ ...change, version: 3 }).key).not.toBe(message.key)
    expect(decisionMessage(change)).toEqual(message)
    expect(matching({ topics: ['decision.changed'], eventNames: ['other'] }, [message])).toEqual([
      'decision.changed',
    ])
  })

  it.each(['sent', 'bounced'] as const)('are emails that were %s, with the key of their record', (kind) => {
    const message = emailMessage({
      v: 1,
      kind,
      id: PROFILE,
      projectId: PROJECT,
      deliveryId: SELECTOR,
      triggerId: SELECTOR,
      profileId: PROFILE,
      at: RECEIVED,
    })
    expect(message).toMatchObject({ topic: `email.${kind}`, type: `email.${kind}`, key: PROFILE })
    expect(message).toMatchObject({
      profileId: PROFILE,
      orderingKey: PROFILE,
      data: { deliveryId: SELECTOR },
    })
    expect(matching({ topics: ['email.sent'] }, [message])).toEqual(kind === 'sent' ? ['email.sent'] : [])
  })

  it.each(['fired', 'resolved'] as const)('are alerts that %s, in their order', (change) => {
    const message = alertMessage({
      v: 1,
      id: PROFILE,
      projectId: PROJECT,
      alertId: SELECTOR,
      name: 'Few orders',
      change,
      condition: { type: 'below', value: 50 },
      interval: 'hour',
      bucket: RECEIVED,
      value: 42,
      expected: null,
      deviation: null,
      at: RECEIVED,
    })
    expect(message).toMatchObject({ type: `alert.${change}`, key: PROFILE, orderingKey: SELECTOR })
    expect(message.data).toMatchObject({ alertId: SELECTOR, name: 'Few orders', value: 42 })
    expect(matching({ topics: ['alert.fired'] }, [message])).toEqual(
      change === 'fired' ? ['alert.fired'] : [],
    )
  })

  it('are entries of the audit log, which can be filtered', () => {
    const message = auditMessage({
      v: 1,
      id: SELECTOR,
      projectId: PROJECT,
      actor: { kind: 'key', id: PROFILE },
      operation: 'createLink',
      resourceId: null,
      fields: ['url'],
      network: null,
      requestId: null,
      at: RECEIVED,
    })
    expect(message).toMatchObject({ type: 'audit', key: SELECTOR, data: { operation: 'createLink' } })
    const filter = (operation: string) => ({ '==': [{ var: 'data.operation' }, operation] })
    expect(matching({ topics: ['audit'], filter: filter('createLink') }, [message])).toEqual(['audit'])
    expect(matching({ topics: ['audit'], filter: filter('deleteLink') }, [message])).toEqual([])
  })
})

describe('a webhook', () => {
  it('gets the messages of its project and topics', () => {
    expect(matching({})).toEqual(['event', 'conversion'])
    expect(matching({ topics: ['conversion'] })).toEqual(['conversion'])
    expect(matching({ projectId: SELECTOR })).toEqual([])
  })

  it('gets events of its names only, and all clicks', () => {
    expect(matching({ eventNames: ['order_placed'] })).toEqual(['event', 'conversion'])
    expect(matching({ eventNames: ['other'] })).toEqual([])
    expect(matching({ eventNames: ['other'] }, [linkClickMessage(aClick)])).toEqual(['link.clicked'])
  })

  it('gets what was received when it was active, to the millisecond', () => {
    const at = Date.parse(RECEIVED)
    expect(matching({ activatedAt: new Date(at) })).toHaveLength(2)
    expect(matching({ activatedAt: new Date(at + 1) })).toEqual([])
  })

  it('filters by the message and its event', () => {
    expect(matching({ filter: { '>': [{ var: 'properties.total' }, 99] } })).toHaveLength(2)
    expect(matching({ filter: { '>': [{ var: 'properties.total' }, 100] } })).toEqual([])
    expect(matching({ filter: { '==': [{ var: 'event.eventId' }, 'e1'] } })).toHaveLength(2)
    expect(matching({ filter: { '==': [{ var: 'topic' }, 'conversion'] } })).toEqual(['conversion'])
    expect(matching({ filter: { '==': [{ var: 'data.currency' }, 'EUR'] } })).toEqual(['conversion'])
    const click = [linkClickMessage(aClick)]
    expect(matching({ filter: { '==': [{ var: 'data.code' }, 'abc'] } }, click)).toEqual(['link.clicked'])
    expect(matching({ filter: { '==': [{ var: 'data.code' }, 'x'] } }, click)).toEqual([])
  })
})
