import { describe, expect, it } from 'vitest'
import { parseEventJson } from '../parse-json.ts'
import { readGa4, readMixpanel } from './events.ts'
import type { JsonObject } from './imported.ts'

const mixpanel = (properties: string) =>
  readMixpanel(
    parseEventJson(`{"event":"Order","properties":{"time":1714903200,${properties}}}`) as JsonObject,
  )
const ga4 = (members: string) =>
  readGa4(
    parseEventJson(`{"event_name":"purchase","event_timestamp":"1714903200000000",${members}}`) as JsonObject,
  )
const amountOf = (currency: string, value: number) =>
  ga4(
    `"user_pseudo_id":"1.2","event_params":[{"key":"currency","value":{"string_value":"${currency}"}},` +
      `{"key":"value","value":{"double_value":${value}}}]`,
  ).properties?.amount

describe('events of other products', () => {
  it('keep all digits of ids that are numbers', () => {
    const first = mixpanel('"distinct_id":7211045500123456789,"order":9007199254740993,"total":4990')
    expect(first).toMatchObject({
      userId: '7211045500123456789',
      properties: { order: '9007199254740993', total: 4990 },
    })
    expect(mixpanel('"distinct_id":7211045500123456788').messageId).not.toBe(
      mixpanel('"distinct_id":7211045500123456789').messageId,
    )
    expect(mixpanel('"distinct_id":"$device:7","$user_id":7211045500123456788,"$device_id":7')).toMatchObject(
      {
        userId: '7211045500123456788',
        anonymousId: '7',
      },
    )
    expect(ga4('"user_id":7211045500123456789')).toMatchObject({ userId: '7211045500123456789' })
  })

  it.each([
    ['EUR', 19.99, 1_999],
    ['HUF', 1_990, 199_000],
    ['JPY', 1_990, 1_990],
    ['KWD', 1.005, 1_005],
  ])('have amounts in the minor units of ISO 4217: %s', (currency, value, amount) => {
    expect(amountOf(currency, value)).toBe(amount)
  })
})

describe('parseEventJson', () => {
  it('parses a value alone', () => {
    expect([parseEventJson('7211045500123456789'), parseEventJson('4990')]).toEqual([
      '7211045500123456789',
      4990,
    ])
  })

  it.each(['', '1,2', '{"a":', '1]['])('throws for %j', (text) => {
    expect(() => parseEventJson(text)).toThrow(SyntaxError)
  })
})
