import type { Touch } from '@waymark/contracts/http/profile-view'
import type { IngestRecord } from '@waymark/contracts/records/ingest-record'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { enrichEvent } from '../enrichment/enrich-event.ts'
import { mergeTouches, noTouches, type Touches, touchesOf } from './touch.ts'

const touchesBy = (event: Partial<IngestRecord['event']>, userAgent: string | null = null) =>
  touchesOf(
    enrichEvent({
      v: 1,
      kind: 'event',
      projectId: '01900000-0000-7000-8000-000000000001',
      receivedAt: '2026-11-21T04:00:00.000Z',
      client: { ip: null, userAgent },
      ipStorage: 'drop',
      event: {
        eventId: 'e',
        eventName: 'page_view',
        visitorId: 'v',
        properties: {},
        ...event,
      },
    }),
  )
const touchOf = (properties: Record<string, unknown>, event: object = {}) =>
  touchesBy({ properties, ...event }).first

describe('touchesOf', () => {
  it.each<[string, Record<string, unknown>, object]>([
    ['a campaign', { url: 'https://shop.example/?utm_source=news' }, {}],
    ['an ad’s click id', { url: 'https://shop.example/?gclid=1' }, {}],
    ['a click id of the body', {}, { clickIds: { own: '1' } }],
    ['a short link', {}, { shortLinkCode: 'abc' }],
    ['another site', { url: 'https://shop.example/', referrer: 'https://www.google.com/' }, {}],
    ['another site, on an unknown page', { referrer: 'https://www.google.com/' }, {}],
  ])('finds %s', (_what, properties, event) => {
    expect(touchOf(properties, event)).toMatchObject({ eventId: 'e' })
  })

  it.each<[string, Record<string, unknown>]>([
    ['nothing', {}],
    ['a page by itself', { url: 'https://shop.example/shoes' }],
    ['the page before', { url: 'https://shop.example/b', referrer: 'https://shop.example/a' }],
  ])('finds nothing in %s', (_what, properties) => {
    expect(touchOf(properties)).toBeNull()
  })

  it('ignores bots', () => {
    expect(touchesBy({ shortLinkCode: 'abc' }, 'Googlebot/2.1 (+http://www.google.com/bot.html)')).toEqual(
      noTouches,
    )
  })
})

describe('mergeTouches', () => {
  const touch = fc
    .record({ minute: fc.nat(3), eventId: fc.constantFrom('a', 'b', 'c') })
    .map(({ minute, eventId }): Touches => {
      const one: Touch = {
        at: new Date(minute * 60_000).toISOString(),
        eventId,
        utm: { source: eventId, medium: null, campaign: null, term: null, content: null },
        clickIds: {},
        referrer: null,
        shortLinkId: null,
        shortLinkCode: null,
      }
      const link = { at: one.at, linkId: 'l', code: 'c', campaign: null, clickId: null, eventId }
      return { first: one, last: one, links: [link] }
    })
  const touches = fc.array(touch, { maxLength: 4 }).map((all) => all.reduce(mergeTouches, noTouches))

  it('is commutative, associative and idempotent', () => {
    fc.assert(
      fc.property(touches, touches, touches, (a, b, c) => {
        expect(mergeTouches(a, b)).toEqual(mergeTouches(b, a))
        expect(mergeTouches(mergeTouches(a, b), c)).toEqual(mergeTouches(a, mergeTouches(b, c)))
        expect(mergeTouches(a, a)).toEqual(a)
        expect(mergeTouches(a, noTouches)).toEqual(a)
      }),
    )
  })

  it('keeps the earliest and the latest', () => {
    fc.assert(
      fc.property(fc.array(touch, { minLength: 1 }), (all) => {
        const times = all.map(({ first }) => first?.at ?? '').sort()
        const { first, last } = all.reduce(mergeTouches)
        expect([first?.at, last?.at]).toEqual([times[0], times.at(-1)])
      }),
    )
  })
})
