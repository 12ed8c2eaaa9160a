import { describe, expect, it } from 'vitest'
import { trackedEvent } from './track-request.ts'

const fieldAtFault = (event: unknown) => trackedEvent.check(event)?.field

const ID_FIELDS = ['visitorId', 'userId', 'sessionId', 'eventId', 'shortLinkId', 'shortLinkCode']
const optional = [...ID_FIELDS, 'properties', 'clientTimestamp', 'clickIds']

describe('a tracked event', () => {
  it('requires only a name', () => {
    expect(fieldAtFault({ eventName: 'signed_up' })).toBeUndefined()
    expect(fieldAtFault({ visitorId: 'visitor-1' })).toBe('eventName')
    expect(fieldAtFault({ eventName: null })).toBe('eventName')
  })

  it('may have unknown fields', () => {
    expect(fieldAtFault({ eventName: 'signed_up', colour: 'red' })).toBeUndefined()
  })

  // Characters are code points: an emoji is one, although JavaScript counts two.
  it.each(['x', 'ä', '🦩'])('has a name of 1 to 200 characters such as %s', (character) => {
    expect(fieldAtFault({ eventName: '' })).toBe('eventName')
    expect(fieldAtFault({ eventName: character })).toBeUndefined()
    expect(fieldAtFault({ eventName: character.repeat(200) })).toBeUndefined()
    expect(fieldAtFault({ eventName: character.repeat(201) })).toBe('eventName')
  })

  it.each(ID_FIELDS)('has a %s of up to 200 printable characters', (field) => {
    const withId = (id: string) => fieldAtFault({ eventName: 'e', [field]: id })
    expect(withId('🦩'.repeat(200))).toBeUndefined()
    expect(withId('x'.repeat(201))).toBe(field)
    expect(withId('line\nbreak')).toBe(field)
    expect(withId('\u0085')).toBe(field)
  })

  it.each(ID_FIELDS)('accepts an empty %s as missing, except for short links', (field) => {
    const mayBeEmpty = !field.startsWith('shortLink')
    expect(fieldAtFault({ eventName: 'e', [field]: '' })).toBe(mayBeEmpty ? undefined : field)
  })

  it.each(optional)('accepts null for %s as missing', (field) => {
    expect(fieldAtFault({ eventName: 'e', [field]: null })).toBeUndefined()
  })

  it.each(['eventName', 'clientTimestamp', ...ID_FIELDS])('refuses a %s that is not a string', (field) => {
    for (const value of [1, true, {}, []])
      expect(fieldAtFault({ eventName: 'e', [field]: value })).toBe(field)
  })

  it.each(['properties', 'clickIds'])('refuses %s that are not objects', (field) => {
    for (const value of [1, 'plan=free', []])
      expect(fieldAtFault({ eventName: 'e', [field]: value })).toBe(field)
  })

  it('accepts only strings as click ids, also for the key `__proto__`', () => {
    expect(fieldAtFault({ eventName: 'e', clickIds: { gclid: 'a' } })).toBeUndefined()
    expect(fieldAtFault({ eventName: 'e', clickIds: { gclid: 1 } })).toBe('clickIds.gclid')
    const polluted: unknown = JSON.parse('{"eventName":"e","clickIds":{"__proto__":{"a":1}}}')
    expect(fieldAtFault(polluted)).toBe('clickIds.__proto__')
  })

  it.each([null, undefined, 1, 'event', [], [{ eventName: 'e' }]])('is not %j', (value) => {
    expect(trackedEvent.fits(value)).toBe(false)
  })

  it('cannot have its name in `__proto__`', () => {
    expect(fieldAtFault(JSON.parse('{"__proto__":{"eventName":"e"}}'))).toBe('eventName')
  })
})
