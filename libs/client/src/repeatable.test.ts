import { operations } from '@waymark/contracts/http/operations'
import { describe, expect, it } from 'vitest'
import { operationName } from './errors.ts'
import { isRepeatable, REPEATABLE, WITH_IDEMPOTENCY_KEY, withIds } from './repeatable.ts'

describe('operations that are repeated', () => {
  const posts = operations.filter(({ method }) => method === 'post')

  it('exist', () => {
    const known = new Set(posts.map(({ method, path }) => operationName(method, path)))
    expect([...REPEATABLE, ...WITH_IDEMPOTENCY_KEY].filter((name) => !known.has(name))).toEqual([])
  })

  it('include each one that changes nothing', () => {
    const harmless = posts.filter(({ readOnly }) => readOnly)
    expect(harmless.filter(({ method, path }) => !isRepeatable(method, path)).map(({ id }) => id)).toEqual([])
  })

  it('include each one with an Idempotency-Key', () => {
    const withKey = operations.filter(({ headers = {} }) => 'Idempotency-Key' in headers)
    expect(withKey.map(({ method, path }) => operationName(method, path))).toEqual([...WITH_IDEMPOTENCY_KEY])
    expect(withKey.every(({ method, path }) => isRepeatable(method, path))).toBe(true)
  })

  it('do not include what creates something', () => {
    expect(isRepeatable('post', '/api/projects/{projectId}/links')).toBe(false)
    expect(isRepeatable('patch', '/api/projects/{projectId}/links/{id}')).toBe(false)
  })
})

describe('ids', () => {
  const UUID = /^[0-9a-f-]{36}$/

  it('are added to events without one', () => {
    const one = withIds('post', '/api/v1/t', { body: { eventName: 'a' } })
    expect(one.body).toEqual({ eventName: 'a', eventId: expect.stringMatching(UUID) })
    const events = [{ eventName: 'a', eventId: 'mine' }, { eventName: 'b' }, 'nonsense']
    expect(withIds('post', '/api/v1/t', { body: { events } }).body).toEqual({
      events: [events[0], { eventName: 'b', eventId: expect.stringMatching(UUID) }, 'nonsense'],
    })
    expect(withIds('post', '/api/v1/t', { body: 'nonsense' })).toEqual({ body: 'nonsense' })
  })

  it('are added to redemptions, unless the caller has one', () => {
    const path = '/api/v1/coupons/redeem'
    const body = { code: 'A' }
    expect(withIds('post', path, { body })).toEqual({
      body,
      params: { header: { 'Idempotency-Key': expect.stringMatching(UUID) } },
    })
    const params = { header: { 'Idempotency-Key': 'mine' } }
    expect(withIds('post', path, { body, params })).toEqual({ body, params })
  })
})
