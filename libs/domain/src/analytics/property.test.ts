import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MAX_PROPERTY_DEPTH, parsePropertyName, propertyNameOf } from './property.ts'

describe('parsePropertyName', () => {
  it.each([
    ['eventName', { source: 'column', column: 'eventName' }],
    ['utm.source', { source: 'column', column: 'utmSource' }],
    ['context.country', { source: 'column', column: 'country' }],
    ['properties.price', { source: 'properties', path: ['price'] }],
    ['properties.cart.total', { source: 'properties', path: ['cart', 'total'] }],
    ['properties.cart\\.total', { source: 'properties', path: ['cart.total'] }],
    ['traits.plan', { source: 'traits', path: ['plan'] }],
    ["properties.'; --", { source: 'properties', path: ["'; --"] }],
  ])('reads %s', (name, ref) => {
    expect(parsePropertyName(name)).toEqual(ref)
  })

  it.each(['', 'properties', 'properties.', 'properties..a', 'context.secret', 'toString', 'utm', 'price'])(
    'refuses %j',
    (name) => {
      expect(parsePropertyName(name)).toBeUndefined()
    },
  )

  it(`accepts paths of up to ${MAX_PROPERTY_DEPTH} keys`, () => {
    const keys = (count: number) => Array.from({ length: count }, () => 'a')
    expect(parsePropertyName(propertyNameOf('properties', keys(MAX_PROPERTY_DEPTH)))).toBeDefined()
    expect(parsePropertyName(propertyNameOf('properties', keys(MAX_PROPERTY_DEPTH + 1)))).toBeUndefined()
  })

  it('reads every name that propertyNameOf writes', () => {
    const key = fc.string({
      unit: fc.constantFrom('a', '.', '\\', '"', "'", '$', '/', '~', 'ß'),
      minLength: 1,
    })
    fc.assert(
      fc.property(fc.array(key, { minLength: 1, maxLength: MAX_PROPERTY_DEPTH }), (path) => {
        expect(parsePropertyName(propertyNameOf('traits', path))).toEqual({ source: 'traits', path })
      }),
    )
  })
})
