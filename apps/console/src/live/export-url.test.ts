import { describe, expect, it } from 'vitest'
import { exportUrl, extensionOf, MAX_EXPORT_LIMIT } from './export-url.ts'

const NOTHING = { format: 'csv', times: undefined, ids: {}, filters: [], limit: '' } as const
const queryOf = (choice: Parameters<typeof exportUrl>[1]) =>
  Object.fromEntries(new URL(exportUrl('p1', choice), 'http://localhost').searchParams)

describe('the address of an export', () => {
  it('has only what was chosen', () => {
    expect(exportUrl('p1', NOTHING)).toBe('/api/projects/p1/events/export?format=csv')
    expect(queryOf({ ...NOTHING, ids: { eventName: '', userId: 'a&b=ä' } })).toEqual({
      format: 'csv',
      userId: 'a&b=ä',
    })
  })

  it('has the times and the complete filters', () => {
    const times = { from: '2026-01-01T00:00:00.000Z', to: '2026-01-02T00:00:00.000Z' }
    const filters = [
      { property: 'properties.plan', op: 'eq', value: 'pro' },
      { property: '', op: 'eq', value: 'pro' },
      { property: 'properties.plan', op: 'eq' },
      { property: 'properties.plan', op: 'exists' },
    ] as const
    const { filters: sent, ...others } = queryOf({ ...NOTHING, times, filters })
    expect(others).toEqual({ format: 'csv', ...times })
    expect(JSON.parse(sent ?? '')).toEqual([filters[0], filters[3]])
  })

  it('asks for a byte order mark for Excel', () => {
    expect(queryOf({ ...NOTHING, format: 'excel' })).toEqual({ format: 'csv', bom: 'true' })
    expect(extensionOf('excel')).toBe('csv')
  })

  it.each([
    ['', undefined],
    ['0', undefined],
    ['x', undefined],
    ['1', '1'],
    [`${MAX_EXPORT_LIMIT}`, `${MAX_EXPORT_LIMIT}`],
    [`${MAX_EXPORT_LIMIT + 1}`, `${MAX_EXPORT_LIMIT}`],
  ])('has a limit that the API takes for "%s"', (limit, expected) => {
    expect(queryOf({ ...NOTHING, limit }).limit).toBe(expected)
  })
})
