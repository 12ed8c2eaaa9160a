import type { AcceptedEvent, MeteringSelector } from '@waymark/contracts'
import { describe, expect, it } from 'vitest'
import { compileSelector, conversionsOf } from './metering.ts'

const selector = (change: Partial<MeteringSelector> = {}): MeteringSelector => ({
  id: '01900000-0000-7000-8000-00000000000a',
  eventName: 'order',
  filter: null,
  amountProperty: 'order.total',
  currencyProperty: 'currency',
  quantityProperty: 'items',
  ...change,
})
const order = (properties: Record<string, unknown>): AcceptedEvent => ({
  eventId: 'e',
  eventName: 'order',
  visitorId: null,
  userId: null,
  sessionId: null,
  properties,
  clientTimestamp: null,
  shortLinkId: null,
  shortLinkCode: null,
  clickIds: {},
})
const claim = (properties: Record<string, unknown>, change?: Partial<MeteringSelector>) =>
  conversionsOf(order(properties), [compileSelector(selector(change))])[0]

describe('a conversion', () => {
  it('has amount, currency and quantity from where the selector says', () => {
    expect(claim({ order: { total: 4990 }, currency: 'eur', items: 2.5 })).toMatchObject({
      amount: 4990,
      currency: 'EUR',
      quantity: 2.5,
    })
  })

  it.each([
    ['a fraction', { order: { total: 49.9 } }],
    ['beyond what a number holds exactly', { order: { total: 2 ** 53 } }],
    ['text', { order: { total: '4990' } }],
    ['missing', {}],
    ['below what is no object', { order: 7 }],
  ])('has no amount when that is %s', (_what, properties) => {
    expect(claim(properties)?.amount).toBeNull()
  })

  it.each(['euro', '€', 'E1R', 978, null])('has no currency when that is %j', (currency) => {
    expect(claim({ currency })?.currency).toBeNull()
  })

  it('is what the filter lets through', () => {
    const filter = {
      and: [{ '>': [{ var: 'properties.total' }, 100] }, { '==': [{ var: 'event.eventName' }, 'order'] }],
    }
    expect(claim({ total: 101 }, { filter })).toBeDefined()
    expect(claim({ total: 100 }, { filter })).toBeUndefined()
    expect(claim({}, { filter })).toBeUndefined()
  })

  it('is one per selector', () => {
    const both = [
      compileSelector(selector()),
      compileSelector(selector({ id: '01900000-0000-7000-8000-00000000000b' })),
    ]
    expect(conversionsOf(order({}), both)).toHaveLength(2)
  })
})

describe('a filter that goes through lists', () => {
  const some = (list: unknown, holds: unknown) => ({ some: [list, holds] })
  const list = { var: 'properties.items' }
  const isOne = { '===': [{ var: '' }, 1] }
  const filterOf = (filter: unknown) => compileSelector(selector({ filter }))

  it('holds for one of its items', () => {
    const { matches } = filterOf(some(list, isOne))
    expect(matches(order({ items: [0, 1] }))).toBe(true)
    expect(matches(order({ items: [0] }))).toBe(false)
  })

  it('holds for no more of them than it could go through in a moment', () => {
    const holds = { or: Array.from({ length: 200 }, (_, index) => ({ '===': [{ var: '' }, -1 - index] })) }
    const { matches } = filterOf(some(list, { or: [isOne, holds] }))
    expect(matches(order({ items: [1] }))).toBe(true)
    expect(matches(order({ items: Array.from({ length: 10_000 }, () => 1) }))).toBe(false)
  })
})
