import { describe, expect, it } from 'vitest'
import { enrichEvent } from '../enrichment/enrich-event.ts'
import { compileTrigger, triggersFiredBy } from './trigger.ts'

const AT = '2026-11-21T04:00:00.000Z'
const event = (change: { receivedAt?: string; backfill?: true; bot?: boolean; properties?: object } = {}) => {
  const enriched = enrichEvent({
    v: 1,
    kind: 'event',
    projectId: '01900000-0000-7000-8000-000000000001',
    receivedAt: change.receivedAt ?? AT,
    client: { ip: null, userAgent: change.bot ? 'Googlebot/2.1' : null },
    ...(change.backfill && { backfill: change.backfill }),
    event: {
      eventId: 'e1',
      eventName: 'signed_up',
      visitorId: 'v',
      properties: { ...change.properties },
    },
  })
  return enriched
}
const trigger = (filter: unknown = null, activatedAt = AT) =>
  compileTrigger({ id: 't', eventName: 'signed_up', filter, cooldownSeconds: 0, activatedAt })

describe('triggersFiredBy', () => {
  it('returns the triggers with a matching filter', () => {
    const paid = trigger({ '==': [{ var: 'properties.plan' }, 'paid'] })
    expect(triggersFiredBy(event({ properties: { plan: 'paid' } }), [paid, trigger()])).toHaveLength(2)
    expect(triggersFiredBy(event({ properties: { plan: 'free' } }), [paid, trigger()])).toHaveLength(1)
  })

  it('returns none for bots and backfills', () => {
    expect(triggersFiredBy(event({ bot: true }), [trigger()])).toEqual([])
    expect(triggersFiredBy(event({ backfill: true }), [trigger()])).toEqual([])
  })

  it('returns none that were activated after the receipt of the event', () => {
    expect(triggersFiredBy(event(), [trigger(null, '2026-11-21T04:00:00.000+00:00')])).toHaveLength(1)
    expect(triggersFiredBy(event(), [trigger(null, '2026-11-21T04:00:00.001+00:00')])).toEqual([])
  })
})
