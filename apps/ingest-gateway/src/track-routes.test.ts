import { AppError } from '@waymark/contracts/app-error'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseTrackRequest, wantsSync } from './track-routes.ts'

const event = { eventName: 'page_view' }

describe('parseTrackRequest', () => {
  it('accepts a single event', () => {
    expect(parseTrackRequest(event)).toEqual({ rawEvents: [event], sentAt: null })
    const withNull = { ...event, events: null }
    expect(parseTrackRequest(withNull).rawEvents).toEqual([withNull])
  })

  it('accepts events with a time of sending', () => {
    const sentAt = '2026-11-21T04:00:00Z'
    expect(parseTrackRequest({ events: [event, event], sentAt })).toEqual({
      rawEvents: [event, event],
      sentAt,
    })
  })

  it('leaves invalid events to later checks', () => {
    expect(parseTrackRequest({ events: [null, 1, event] }).rawEvents).toEqual([null, 1, event])
    expect(parseTrackRequest({ eventName: null }).rawEvents).toEqual([{ eventName: null }])
  })

  it('reads the time of sending of a single event', () => {
    const sentAt = '2026-11-21T04:00:00Z'
    expect(parseTrackRequest({ ...event, sentAt })).toEqual({ rawEvents: [event], sentAt })
  })

  it.each([
    [{ ...event, events: [event] }, 'eventName is not a known field beside events; allowed: sentAt'],
    [{ events: [event], sendAt: 'x' }, 'sendAt is not a known field beside events; allowed: sentAt'],
    [{ events: [event], apiKey: 'x' }, /^apiKey is not a known field/],
    [{ events: [event], ['x'.repeat(1_000)]: 1 }, /^x{64} is not/],
    [JSON.parse('{"events":[{"eventName":"e"}],"__proto__":1}'), /^__proto__ is not a known field/],
  ])('refuses unknown fields beside events: %j', (body, message) => {
    expect(() => parseTrackRequest(body)).toThrow(message)
  })

  it('accepts 100 events and refuses 101', () => {
    expect(parseTrackRequest({ events: Array(100).fill(event) }).rawEvents).toHaveLength(100)
    expect(() => parseTrackRequest({ events: Array(101).fill(event) })).toThrow(
      'events holds 101 events; 100 are allowed',
    )
  })

  it.each([
    null,
    undefined,
    true,
    7,
    'page_view',
    [],
    [event],
    {},
    { visitorId: 'visitor-1' },
    { events: null },
    { events: {} },
    { events: 'page_view' },
    { events: [] },
    JSON.parse('{"__proto__":{"eventName":"page_view"}}'),
    JSON.parse('{"__proto__":{"events":[{"eventName":"page_view"}]}}'),
  ])('refuses %j as a bad request', (body) => {
    expect(() => parseTrackRequest(body)).toThrow(expect.objectContaining({ code: 'bad_request' }))
  })

  it.each([7, {}, '', '2026-11-21', '9'.repeat(65), 'x'.repeat(1_000_000)])(
    'treats an unusable send time as missing, with a warning',
    (sentAt) => {
      for (const body of [
        { events: [event], sentAt },
        { ...event, sentAt },
      ])
        expect(parseTrackRequest(body)).toMatchObject({
          sentAt: null,
          sentAtProblem: { field: 'sentAt', rule: 'invalid_sent_at' },
        })
    },
  )

  it('treats a send time of null as missing', () => {
    expect(parseTrackRequest({ events: [event], sentAt: null })).toEqual({ rawEvents: [event], sentAt: null })
  })

  it('returns 1 to 100 events or throws an AppError for any input', () => {
    const nearlyRequest = fc.record({ events: fc.jsonValue(), sentAt: fc.jsonValue() }, { requiredKeys: [] })
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), nearlyRequest), (body) => {
        try {
          const { length } = parseTrackRequest(body).rawEvents
          expect(length >= 1 && length <= 100).toBe(true)
        } catch (error) {
          expect(error).toBeInstanceOf(AppError)
        }
      }),
    )
  })
})

const asks = (url: string, header?: string): boolean =>
  wantsSync({ url, headers: header === undefined ? {} : { 'x-service-sync': header } })

describe('the selector of the synchronous path', () => {
  it.each([
    ['/api/v1/t', undefined, false],
    ['/api/v1/t?', undefined, false],
    ['/api/v1/t?sync=1', undefined, true],
    ['/api/v1/t?sync=true', undefined, true],
    ['/api/v1/t', '1', true],
    ['/api/v1/t', 'true', true],
    ['/api/v1/t?sync=1', 'true', true],
  ])('is in %s with the header %j: %j', (url, header, wanted) => {
    expect(asks(url, header)).toBe(wanted)
  })

  it.each(['0', 'false', 'yes', '', 'True', '1, 1', '11'])('must not be %j', (value) => {
    const message = (what: string) => `${what} must be 1 or true, or left out; got ${JSON.stringify(value)}`
    expect(() => asks('/api/v1/t', value)).toThrow(message('The header X-Service-Sync'))
    expect(() => asks('/api/v1/t?sync=1', value)).toThrow(message('The header X-Service-Sync'))
    expect(() => asks(`/api/v1/t?sync=${value}`, '1')).toThrow(message('The query parameter sync'))
  })

  it('is repeated in a message up to 64 characters', () => {
    expect(() => asks('/api/v1/t', 'x'.repeat(100))).toThrow(/got "x{64}"$/)
  })
})
