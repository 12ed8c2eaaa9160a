import { AppError } from '@waymark/contracts'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseTrackRequest } from './track-request.ts'

const event = { eventName: 'page_view' }

describe('parseTrackRequest', () => {
  it('takes one event by itself', () => {
    expect(parseTrackRequest(event)).toEqual({ rawEvents: [event], sentAt: null })
    const withNull = { ...event, events: null }
    expect(parseTrackRequest(withNull).rawEvents).toEqual([withNull])
  })

  it('takes events with the time of sending beside them', () => {
    const sentAt = '2026-11-21T04:00:00Z'
    expect(parseTrackRequest({ events: [event, event], sentAt })).toEqual({
      rawEvents: [event, event],
      sentAt,
    })
  })

  it('leaves it to each event what is wrong with it', () => {
    expect(parseTrackRequest({ events: [null, 1, event] }).rawEvents).toEqual([null, 1, event])
    expect(parseTrackRequest({ eventName: null }).rawEvents).toEqual([{ eventName: null }])
  })

  it('takes a body with both as a batch', () => {
    expect(parseTrackRequest({ ...event, events: [{ eventName: 'other' }] }).rawEvents).toEqual([
      { eventName: 'other' },
    ])
  })

  it('takes 100 events and refuses 101', () => {
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

  it.each([7, null, {}, '9'.repeat(65), 'x'.repeat(1_000_000)])(
    'ignores an unusable time of sending',
    (sentAt) => {
      expect(parseTrackRequest({ events: [event], sentAt }).sentAt).toBeNull()
    },
  )

  it('answers 1 to 100 events or throws an AppError, whatever it is given', () => {
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
