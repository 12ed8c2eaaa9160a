import { expect, it } from 'vitest'
import { utmOf } from './utm-fields.ts'

const before = { source: 'mail', medium: 'email', term: 'shoes' }

it('an empty field removes a parameter, and those without a field stay', () => {
  const values = { 'utm-source': '', 'utm-medium': 'print', 'utm-campaign': 'autumn' }
  expect(utmOf(values, before)).toEqual({ medium: 'print', campaign: 'autumn', term: 'shoes' })
  expect(before).toHaveProperty('source')
})

it('a new link has the parameters that were entered', () => {
  expect(utmOf({ 'utm-source': 'mail', 'utm-medium': '', 'utm-campaign': '' })).toEqual({ source: 'mail' })
})
