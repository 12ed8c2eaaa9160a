import type { AcceptedEvent, MeteringSelector } from '@waymark/contracts/records/ingest-record'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { completeEvent } from '../ingestion/ingest-record.ts'
import { WorkBudget } from '../logic/work-budget.ts'
import { compileSelector, conversionsOf, filteredEvent, meterEvent } from './metering.ts'

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
  properties,
})
const claim = (properties: Record<string, unknown>, change?: Partial<MeteringSelector>) =>
  conversionsOf(order(properties), [compileSelector(selector(change))])[0]

describe('a conversion', () => {
  it('reads amount, currency and quantity by the selector', () => {
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

  it.each(['euro', '€', 'E1R', 'ABC', 'DEM', 978, null])('has no currency when that is %j', (currency) => {
    expect(claim({ currency })?.currency).toBeNull()
  })

  const warningsOf = (properties: Record<string, unknown>, ...changes: Partial<MeteringSelector>[]) =>
    meterEvent(
      order(properties),
      [{}, ...changes].map((change) => compileSelector(selector(change))),
    ).warnings

  it.each([
    ['a fraction', 12.5],
    ['text', '4990'],
    ['beyond what a number holds exactly', 2 ** 53],
    ['negative', -1],
    ['true', true],
  ])('has a warning when its amount is %s', (_what, total) => {
    expect(warningsOf({ order: { total }, currency: 'EUR', items: 1 })).toEqual([
      {
        field: 'properties.order.total',
        rule: 'invalid_amount',
        expected: 'an integer of minor units from 0 to 9007199254740991',
        actual: total,
        message: expect.stringContaining('must be an integer of minor units'),
      },
    ])
    expect(claim({ order: { total } })?.amount).toBeNull()
  })

  it.each(['', 'EURO', 'ABC', 'XXX', 978, ['EUR']])('has a warning when its currency is %j', (currency) => {
    expect(warningsOf({ currency })).toMatchObject([
      {
        field: 'properties.currency',
        rule: 'invalid_currency',
        expected: expect.stringContaining('ISO 4217'),
      },
    ])
  })

  it.each(['2', -1, {}, false, 2 ** 53])('has a warning when its quantity is %j', (items) => {
    expect(warningsOf({ items })).toMatchObject([{ field: 'properties.items', rule: 'invalid_quantity' }])
    expect(claim({ items })?.quantity).toBeNull()
  })

  it('has one warning when its amount has no currency', () => {
    const other = { id: '01900000-0000-7000-8000-00000000000b' }
    for (const currency of [undefined, null]) {
      expect(warningsOf({ order: { total: 5 }, currency }, other)).toMatchObject([
        { field: 'properties.currency', rule: 'missing_currency' },
      ])
    }
    expect(warningsOf({ order: { total: 5 }, currency: 'ABC' })).toMatchObject([{ rule: 'invalid_currency' }])
    expect(claim({ order: { total: 5 } })).toMatchObject({ amount: 5, currency: null })
    const inNone = compileSelector(selector({ currencyProperty: null }))
    expect(meterEvent(order({ order: { total: 5 } }), [inNone]).warnings).toEqual([])
  })

  it('has no warning for missing or valid values, and one for a value that several selectors read', () => {
    expect(warningsOf({})).toEqual([])
    expect(warningsOf({ order: { total: null }, currency: null, items: null })).toEqual([])
    expect(warningsOf({ order: { total: 0 }, currency: 'jpy', items: 0.5 })).toEqual([])
    expect(warningsOf({ order: { total: 2 ** 53 - 1 }, currency: 'EUR', items: 2 ** 53 - 1 })).toEqual([])
    expect(warningsOf({ currency: 'ABC' }, { id: '01900000-0000-7000-8000-00000000000b' })).toHaveLength(1)
    expect(warningsOf({ currency: 'x'.repeat(1_000) })[0]?.actual).toBe('x'.repeat(64))
  })

  it('has only valid parts for any input, and a warning for each invalid one', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), fc.jsonValue(), (total, currency, items) => {
        const selectors = [compileSelector(selector())]
        const metered = meterEvent(order({ order: { total }, currency, items }), selectors)
        const [made] = metered.conversions
        for (const [part, sent, rule] of [
          [made?.amount, total, 'invalid_amount'],
          [made?.currency, currency, 'invalid_currency'],
          [made?.quantity, items, 'invalid_quantity'],
        ]) {
          const isWarnedOf = metered.warnings.some((warning) => warning.rule === rule)
          expect(isWarnedOf).toBe(sent !== null && part === null)
          if (typeof part === 'number') expect(part >= 0 && Number.isFinite(part)).toBe(true)
        }
      }),
    )
  })

  it('requires a match of the filter', () => {
    const filter = {
      and: [{ '>': [{ var: 'properties.total' }, 100] }, { '==': [{ var: 'event.eventName' }, 'order'] }],
    }
    expect(claim({ total: 101 }, { filter })).toBeDefined()
    expect(claim({ total: 100 }, { filter })).toBeUndefined()
    expect(claim({}, { filter })).toBeUndefined()
  })

  it('is created for each matching selector', () => {
    const both = [
      compileSelector(selector()),
      compileSelector(selector({ id: '01900000-0000-7000-8000-00000000000b' })),
    ]
    expect(conversionsOf(order({}), both)).toHaveLength(2)
  })
})

describe('a filter over lists', () => {
  const some = (list: unknown, holds: unknown) => ({ some: [list, holds] })
  const list = { var: 'properties.items' }
  const isOne = { '===': [{ var: '' }, 1] }
  const filterOf = (filter: unknown) => {
    const { matches } = compileSelector(selector({ filter }))
    return {
      matches: (event: AcceptedEvent) => matches(filteredEvent(completeEvent(event)), new WorkBudget()),
    }
  }

  it('matches one of its items', () => {
    const { matches } = filterOf(some(list, isOne))
    expect(matches(order({ items: [0, 1] }))).toBe('holds')
    expect(matches(order({ items: [0] }))).toBe('fails')
  })

  it('does not match beyond its budget', () => {
    const holds = { or: Array.from({ length: 200 }, (_, index) => ({ '===': [{ var: '' }, -1 - index] })) }
    const { matches } = filterOf(some(list, { or: [isOne, holds] }))
    expect(matches(order({ items: [1] }))).toBe('holds')
    expect(matches(order({ items: Array.from({ length: 10_000 }, () => 1) }))).toBe('exceeded')
  })

  it('creates no conversion beyond its budget, with a warning', () => {
    const items = Array.from({ length: 1_000 }, () => 0)
    const selectors = Array.from({ length: 3 }, (_, n) =>
      compileSelector(selector({ id: `${n}`, filter: some(list, isOne) })),
    )
    const run = (budget: WorkBudget) => meterEvent(order({ items }), selectors, budget)
    const budget = new WorkBudget(1_000_000, 0)
    expect(run(budget)).toEqual({ conversions: [], warnings: [] })
    const ofThree = 1_000_000 - budget.left
    expect(run(new WorkBudget(ofThree, 0)).warnings).toEqual([])
    expect(run(new WorkBudget(ofThree - 1, 0)).warnings).toMatchObject([
      { rule: 'filter_budget_exceeded', actual: ['2'] },
    ])
  })
})
