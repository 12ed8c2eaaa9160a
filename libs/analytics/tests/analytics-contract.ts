import { eventKeyOf } from '@waymark/domain'
import { anEnrichedEvent } from '@waymark/testing'
import { expect, it } from 'vitest'
import { type Analytics, MAX_GROUPS, type MetricQuery } from '../src/port.ts'

const DAY = { from: new Date('2024-03-01T00:00:00Z'), to: new Date('2024-03-02T00:00:00Z') }

/** What an analytics store promises, asserted on one adapter. */
export const describeAnalytics = (open: () => Analytics): void => {
  const event = (projectId: string, eventId: string, timestamp: string, eventName = 'page_view') =>
    anEnrichedEvent({ projectId, event: { eventId, eventName, clientTimestamp: timestamp } })

  it('counts each event once, however often and from whichever month it is stored', async () => {
    const projectId = '01900000-0000-7000-8000-0000000000a1'
    const once = event(projectId, 'once', '2024-03-01T12:00:00Z')
    await open().storeEvents([once, once])
    await open().storeEvents([{ ...once, receivedAt: '2024-05-01T00:00:00.000Z' }])
    expect(await open().countEvents({ projectId, ...DAY })).toBe(1)
  })

  it('counts by time, the beginning included and the end not, by name and by project', async () => {
    const projectId = '01900000-0000-7000-8000-0000000000a2'
    await open().storeEvents([
      event(projectId, 'before', '2024-02-29T23:59:59.999Z'),
      event(projectId, 'first', '2024-03-01T00:00:00Z'),
      event(projectId, 'bought', '2024-03-01T23:59:59.999Z', 'order'),
      event(projectId, 'after', '2024-03-02T00:00:00Z'),
      event('01900000-0000-7000-8000-0000000000a3', 'foreign', '2024-03-01T12:00:00Z'),
    ])
    expect(await open().countEvents({ projectId, ...DAY })).toBe(2)
    expect(await open().countEvents({ projectId, ...DAY, eventName: 'order' })).toBe(1)
  })

  const selectorId = '01900000-0000-7000-8000-00000000005e'
  const claim = (amount: number | null, currency: string | null) => ({
    selectorId,
    amount,
    currency,
    quantity: null,
  })
  const sale = (projectId: string, eventId: string, timestamp: string, amount: number, currency = 'EUR') => ({
    ...event(projectId, eventId, timestamp, 'order'),
    conversions: [claim(amount, currency)],
  })
  const measured = async (projectId: string, query: Partial<MetricQuery>) => {
    const rows = await open().measure({
      ...{ projectId, metric: 'events', interval: 'day', includeBots: false },
      from: new Date('2024-02-01T00:00:00Z'),
      to: new Date('2024-04-01T00:00:00Z'),
      ...query,
    })
    return rows
      .map(({ at, group, other, currency, value }) =>
        [at?.toISOString().slice(0, 13) ?? 'all', other ? 'other' : group, currency, value].filter(
          (part) => part !== null,
        ),
      )
      .sort()
  }

  it('measures events by hour, day, week from Monday and month, in UTC, without bots unless asked', async () => {
    const projectId = '01900000-0000-7000-8000-0000000000b1'
    const bot = event(projectId, 'bot', '2024-03-03T12:00:00Z')
    await open().storeEvents([
      event(projectId, 'sunday', '2024-03-03T23:59:59.999Z'),
      event(projectId, 'monday', '2024-03-04T00:00:00Z'),
      event(projectId, 'monday too', '2024-03-04T00:30:00Z'),
      event(projectId, 'too late', '2024-04-01T00:00:00Z'),
      { ...bot, context: { ...bot.context, bot: true } },
    ])
    expect(await measured(projectId, { interval: 'hour' })).toEqual([
      ['2024-03-03T23', 1],
      ['2024-03-04T00', 2],
      ['all', 3],
    ])
    expect(await measured(projectId, {})).toEqual([
      ['2024-03-03T00', 1],
      ['2024-03-04T00', 2],
      ['all', 3],
    ])
    expect(await measured(projectId, { interval: 'week' })).toEqual([
      ['2024-02-26T00', 1],
      ['2024-03-04T00', 2],
      ['all', 3],
    ])
    expect(await measured(projectId, { interval: 'month' })).toEqual([
      ['2024-03-01T00', 3],
      ['all', 3],
    ])
    expect(await measured(projectId, { interval: 'month', includeBots: true })).toContainEqual(['all', 4])
  })

  it('counts a visitor once in a bucket and once in all', async () => {
    const projectId = '01900000-0000-7000-8000-0000000000b2'
    const seen = (
      eventId: string,
      timestamp: string,
      visitorId: string | null,
      userId: string | null = null,
    ) => ({
      ...event(projectId, eventId, timestamp),
      visitorId,
      userId,
    })
    await open().storeEvents([
      seen('1', '2024-03-01T01:00:00Z', 'a'),
      seen('2', '2024-03-01T02:00:00Z', 'a', 'u'),
      seen('3', '2024-03-01T03:00:00Z', null, 'u'),
      seen('4', '2024-03-02T01:00:00Z', 'a'),
      seen('5', '2024-03-02T01:00:00Z', null),
    ])
    expect(await measured(projectId, { metric: 'visitors' })).toEqual([
      ['2024-03-01T00', 2],
      ['2024-03-02T00', 1],
      ['all', 2],
    ])
  })

  it('measures conversions and revenue by currency, each once however often the event comes', async () => {
    const projectId = '01900000-0000-7000-8000-0000000000b3'
    const first = sale(projectId, 'first', '2024-03-01T12:00:00Z', 500)
    await open().storeEvents([first, first])
    await open().storeEvents([{ ...first, conversions: [claim(900, 'USD'), ...first.conversions] }])
    await open().storeEvents([
      sale(projectId, 'second', '2024-03-01T13:00:00Z', 250),
      sale(projectId, 'third', '2024-03-02T13:00:00Z', 9_007_199_254_740_991, 'USD'),
      { ...event(projectId, 'free', '2024-03-02T13:00:00Z', 'trial'), conversions: [claim(null, null)] },
    ])
    expect(await measured(projectId, { metric: 'revenue' })).toEqual([
      ['2024-03-01T00', 'EUR', 750],
      ['2024-03-02T00', 'USD', 9_007_199_254_740_991],
      ['all', 'EUR', 750],
      ['all', 'USD', 9_007_199_254_740_991],
    ])
    expect(await measured(projectId, { metric: 'conversions', groupBy: 'name', interval: 'month' })).toEqual([
      ['2024-03-01T00', 'order', 3],
      ['2024-03-01T00', 'trial', 1],
      ['all', 'order', 3],
      ['all', 'trial', 1],
    ])
    expect(await measured(projectId, { metric: 'conversions', groupBy: 'selector' })).toContainEqual([
      'all',
      selectorId,
      4,
    ])
    expect(await measured(projectId, { metric: 'conversions', eventName: 'trial' })).toContainEqual([
      'all',
      1,
    ])
  })

  it('adds up the warnings of events, each event once, and without bots unless asked', async () => {
    const projectId = '01900000-0000-7000-8000-0000000000b7'
    const warned = (count: number, stored: ReturnType<typeof event>) => ({
      ...stored,
      warnings: Array.from({ length: count }, () => ({
        field: 'properties',
        rule: 'type',
        message: 'wrong',
      })),
    })
    const bot = warned(5, event(projectId, 'bot', '2024-03-01T12:00:00Z'))
    const three = warned(3, sale(projectId, 'three', '2024-03-02T12:00:00Z', 500))
    await open().storeEvents([
      warned(2, event(projectId, 'two', '2024-03-01T12:00:00Z')),
      warned(1, event(projectId, 'one', '2024-03-02T12:00:00Z')),
      event(projectId, 'none', '2024-03-03T12:00:00Z'),
      event(projectId, 'none too', '2024-03-03T12:00:00Z', 'signup'),
      { ...bot, context: { ...bot.context, bot: true } },
      warned(7, event('01900000-0000-7000-8000-0000000000b8', 'foreign', '2024-03-01T12:00:00Z')),
    ])
    await open().storeEvents([three, three])
    await open().storeEvents([three, warned(9, event(projectId, 'two', '2024-03-01T12:00:00Z'))])
    expect(await measured(projectId, { metric: 'warnings' })).toEqual([
      ['2024-03-01T00', 2],
      ['2024-03-02T00', 4],
      ['all', 6],
    ])
    expect(await measured(projectId, { metric: 'warnings', includeBots: true })).toContainEqual(['all', 11])
    expect(await measured(projectId, { metric: 'warnings', eventName: 'order' })).toContainEqual(['all', 3])
    expect(await measured(projectId, { metric: 'warnings', groupBy: 'name', interval: 'month' })).toEqual([
      ['2024-03-01T00', 'order', 3],
      ['2024-03-01T00', 'page_view', 3],
      ['all', 'order', 3],
      ['all', 'page_view', 3],
    ])
  })

  it('puts the groups of fewest warnings together, however many events they have', async () => {
    const projectId = '01900000-0000-7000-8000-0000000000b9'
    const from = (country: string, eventId: string, count: number) => {
      const { context, ...rest } = event(projectId, eventId, '2024-03-01T12:00:00Z')
      const warning = { field: 'visitorId', rule: 'missing_visitor_id', message: 'visitorId is missing' }
      const place = { country, device: country, utm: { ...context.utm, campaign: country } }
      return {
        ...rest,
        shortLinkId: country,
        warnings: Array.from({ length: count }, () => warning),
        context: { ...context, ...place },
      }
    }
    const great = Array.from({ length: MAX_GROUPS }, (_, n) => from(`great ${n}`, `great ${n}`, 3))
    const small = ['1', '2'].map((n) => from('small', `small ${n}`, 1))
    await open().storeEvents([...great, ...small])
    for (const groupBy of ['country', 'device', 'campaign', 'link'] as const) {
      const rows = await measured(projectId, { metric: 'warnings', groupBy, interval: 'month' })
      const totals = rows.filter(([at]) => at === 'all')
      expect(totals).toHaveLength(MAX_GROUPS + 1)
      expect(totals).toContainEqual(['all', 'great 50', 3])
      expect(totals).toContainEqual(['all', 'other', 2])
    }
  })

  it('tells groups apart by what events have in common, and puts the smallest together', async () => {
    const projectId = '01900000-0000-7000-8000-0000000000b4'
    const from = (country: string | null, eventId: string) => {
      const { context, ...rest } = event(projectId, eventId, '2024-03-01T12:00:00Z', country ?? 'none')
      return {
        ...rest,
        shortLinkId: country,
        context: { ...context, country, device: country, utm: { ...context.utm, campaign: country } },
      }
    }
    const countries = Array.from({ length: MAX_GROUPS + 1 }, (_, n) => `c${`${n}`.padStart(3, '0')}`)
    const twice = [...countries.slice(3), null].flatMap((name) => [
      from(name, `${name} 1`),
      from(name, `${name} 2`),
    ])
    await open().storeEvents([...countries.slice(0, 3).map((name) => from(name, name)), ...twice])
    for (const groupBy of ['country', 'device', 'campaign', 'link'] as const) {
      const rows = (await measured(projectId, { groupBy, interval: 'month' })).filter(([at]) => at === 'all')
      expect(rows).toHaveLength(MAX_GROUPS + 1)
      expect(rows).toContainEqual(['all', 'c050', 2])
      expect(rows).toContainEqual(['all', 2])
      expect(rows).toContainEqual(['all', 'c000', 1])
      expect(rows).not.toContainEqual(['all', 'c001', 1])
      expect(rows).toContainEqual(['all', 'other', 2])
    }
  })

  it('erases events, and keeps what they were worth', async () => {
    const projectId = '01900000-0000-7000-8000-0000000000b5'
    const mine = sale(projectId, 'mine', '2024-03-01T12:00:00Z', 500)
    const other = { ...mine, projectId: '01900000-0000-7000-8000-0000000000b6' }
    await open().storeEvents([mine, other])
    for (const _ of [1, 2]) await open().eraseEvents([{ projectId, eventKey: eventKeyOf('mine') }])
    await open().eraseEvents([])
    expect(await open().countEvents({ projectId, ...DAY })).toBe(0)
    expect(await open().countEvents({ projectId: other.projectId, ...DAY })).toBe(1)
    expect(await measured(projectId, { metric: 'revenue', interval: 'month' })).toContainEqual([
      'all',
      'EUR',
      500,
    ])
  })

  it('takes nothing', async () => {
    await expect(open().storeEvents([])).resolves.toBeUndefined()
  })
}
