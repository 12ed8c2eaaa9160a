import { AppError } from '@waymark/contracts/app-error'
import { BusUnavailableError } from '@waymark/contracts/bus-unavailable-error'
import { createMemoryLog } from '@waymark/testing'
import { describe, expect, it } from 'vitest'
import { errorReply } from './error-reply.ts'
import type { HttpRequest } from './request.ts'

const request = { id: 'r', method: 'GET', path: '/x', headers: {} } as HttpRequest
const answerTo = (error: unknown) => {
  const { status, body } = errorReply(error, undefined, request, createMemoryLog())
  return { status, body }
}
const unavailable = { status: 503, body: { error: 'STORE_UNAVAILABLE', retryAfter: 30 } }

describe('the answer to an error that no handler knew', () => {
  it.each([
    ['a refused connection', Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })],
    ['no free port', Object.assign(new Error('connect'), { code: 'EADDRNOTAVAIL' })],
    ['a timeout', AbortSignal.timeout(0)],
    ['an abort', AbortSignal.abort()],
    ['a conflict of transactions', Object.assign(new Error('conflict'), { code: 'P2034' })],
  ])('says that a store is unavailable after %s', async (_what, given) => {
    const error = given instanceof AbortSignal ? await reasonOf(given) : given
    expect(answerTo(error)).toEqual(unavailable)
  })

  it('says that the queue is unavailable', () => {
    expect(answerTo(new BusUnavailableError('No broker answers'))).toEqual({
      status: 503,
      body: { error: 'QUEUE_UNAVAILABLE', retryAfter: 60 },
    })
  })

  it('says nothing else about it', () => {
    for (const error of [new Error('secret'), 'secret', undefined])
      expect(answerTo(error)).toEqual({ status: 500, body: { error: 'Internal error' } })
  })

  it('is the error that a handler throws', () => {
    expect(answerTo(new AppError('conflict', 'Taken', { field: 'a' }))).toEqual({
      status: 409,
      body: { error: 'Taken', field: 'a' },
    })
  })
})

const reasonOf = (signal: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason)
    signal.addEventListener('abort', () => resolve(signal.reason))
  })
