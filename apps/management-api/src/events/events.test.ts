import { AppError } from '@waymark/contracts/app-error'
import { listEvents } from '@waymark/contracts/http/events'
import { requireValid } from '@waymark/contracts/require-valid'
import { eventKeyOf } from '@waymark/domain/ingestion'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { unfit } from '../http/validation.ts'
import { formatCursor, readSearch } from './events.ts'

const cursor = {
  receivedAt: Date.parse('2026-11-21T04:00:00.123Z'),
  eventKey: '01900000-0000-7000-8000-000000000001',
}
const encode = (text: string) => Buffer.from(text).toString('base64url')

const parseEventQuery = (query: Record<string, unknown>) => {
  const part = listEvents.query
  if (!part) throw new Error('events have no query')
  const { limit, ...search } = requireValid(part.validator, { ...query }, unfit)
  return { limit, ...readSearch(search) }
}

/** The parameter that is at fault. */
const faultIn = (query: Record<string, unknown>) => {
  try {
    parseEventQuery(query)
    return undefined
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'unprocessable')) throw error
    const [item] = error.details.errors as { field: string; message: string }[]
    return item?.field
  }
}

describe('parseEventQuery', () => {
  it('reads 50 events by default', () => {
    expect(parseEventQuery({})).toEqual({ limit: 50, filters: [] })
  })

  it('reads every parameter and ignores others', () => {
    const filters = { eventId: 'order-1', eventName: 'ordered', visitorId: 'v', userId: '🦩' }
    const query = { ...filters, limit: '7', cursor: formatCursor(cursor), colour: 'red' }
    expect(parseEventQuery(query)).toMatchObject({
      eventKeys: [eventKeyOf('order-1')],
      eventName: 'ordered',
      visitorId: 'v',
      userId: '🦩',
      limit: 7,
      below: cursor,
    })
  })

  it.each(['1', '001', '500'])('accepts the limit %s', (limit) => {
    expect(parseEventQuery({ limit }).limit).toBe(Number(limit))
  })

  it.each(['0', '501', '-1', '1.5', '1e2', '0x10', ' 1', '', 'all', '1000'])(
    'refuses the limit %j',
    (limit) => {
      expect(faultIn({ limit })).toBe('limit')
    },
  )

  const filters = ['eventId', 'eventName', 'visitorId', 'userId']
  it.each(filters)('accepts a %s of 1 to 200 characters', (name) => {
    expect(faultIn({ [name]: '🦩'.repeat(200) })).toBeUndefined()
    expect(faultIn({ [name]: 'x'.repeat(201) })).toBe(name)
    expect(faultIn({ [name]: '' })).toBe(name)
  })

  it.each(filters)('refuses U+0000 in a %s, which no event holds and PostgreSQL cannot compare', (name) => {
    expect(faultIn({ [name]: 'a\0b' })).toBe(name)
  })

  it.each([...filters, 'limit', 'cursor'])('refuses a repeated %s', (name) => {
    expect(faultIn({ [name]: ['1', '1'] })).toBe(name)
  })

  it.each([
    '',
    'nonsense',
    encode('2026-11-21T04:00:00.123Z'),
    encode(`2026-11-21T04:00:00Z_${cursor.eventKey}`),
    encode(`2026-13-21T04:00:00.123Z_${cursor.eventKey}`),
    encode(`2026-11-21T04:00:00.123Z_${cursor.eventKey}0`),
    encode(`2026-11-21T04:00:00.123Z_${cursor.eventKey}\n`),
    encode("2026-11-21T04:00:00.123Z_'; DROP TABLE events; --"),
    'x'.repeat(201),
  ])('refuses the cursor %s', (text) => {
    expect(faultIn({ cursor: text })).toBe('cursor')
  })

  it('reads every cursor that it wrote', () => {
    const time = fc.date({
      min: new Date('0001-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59Z'),
      noInvalidDate: true,
    })
    const receivedAt = time.map((date) => date.getTime())
    fc.assert(
      fc.property(fc.record({ receivedAt, eventKey: fc.uuid() }), (written) => {
        expect(parseEventQuery({ cursor: formatCursor(written) }).below).toEqual(written)
      }),
    )
  })

  it('returns a usable query or names a parameter, for any input', () => {
    const value = fc.oneof(fc.string({ unit: 'binary' }), fc.array(fc.string(), { maxLength: 2 }))
    const query = fc.record(
      { eventId: value, eventName: value, visitorId: value, userId: value, limit: value, cursor: value },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(query, (given) => {
        const fault = faultIn(given)
        if (fault === undefined) expect(parseEventQuery(given).limit).toBeGreaterThanOrEqual(1)
        else expect(Object.keys(given)).toContain(fault)
      }),
    )
  })
})
