import { createRequire } from 'node:module'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { patchRequestTimers } from './kafkajs-patches.ts'

const require = createRequire(import.meta.url)

type Queue = {
  push(request: object): void
  fulfillRequest(answer: { correlationId: number; payload: Buffer; size: number }): void
  scheduleRequestTimeoutCheck(): void
  destroy(): void
}
patchRequestTimers()
const RequestQueue = require('kafkajs/src/network/requestQueue/index.js') as new (options: object) => Queue

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** The request queue of a connection, which records what happened to each request. */
const setUp = ({ maxInFlightRequests = 100 } = {}) => {
  const queue = new RequestQueue({
    requestTimeout: 1_000,
    enforceRequestTimeout: true,
    maxInFlightRequests,
    logger: { debug: () => {}, warn: () => {} },
  })
  queue.scheduleRequestTimeoutCheck()
  const outcomes: Record<number, string> = {}
  let last = 0
  const send = (requestTimeout?: number): number => {
    const correlationId = ++last
    const settle = (outcome: string) => () => {
      outcomes[correlationId] = outcome
    }
    const entry = {
      correlationId,
      apiName: 'Fetch',
      resolve: settle('answered'),
      reject: settle('timed out'),
    }
    queue.push({ entry, expectResponse: true, requestTimeout, sendRequest: () => {} })
    return correlationId
  }
  const answer = (correlationId: number) =>
    queue.fulfillRequest({ correlationId, payload: Buffer.alloc(0), size: 0 })
  return { queue, outcomes, send, answer }
}

it('starts no timer without requests, and keeps none long after a response', () => {
  const { send, answer } = setUp()
  expect(vi.getTimerCount()).toBe(0)
  answer(send())
  vi.advanceTimersByTime(1_000)
  expect(vi.getTimerCount()).toBe(0)
})

it('fails a request at its timeout, and not before', () => {
  const { outcomes, send } = setUp()
  const first = send()
  vi.advanceTimersByTime(600)
  const second = send()
  vi.advanceTimersByTime(399)
  expect(outcomes).toEqual({})
  vi.advanceTimersByTime(1)
  expect(outcomes).toEqual({ [first]: 'timed out' })
  vi.advanceTimersByTime(599)
  expect(outcomes[second]).toBeUndefined()
  vi.advanceTimersByTime(1)
  expect(outcomes[second]).toBe('timed out')
  expect(vi.getTimerCount()).toBe(0)
})

it('does not wait for a request with a longer timeout', () => {
  const { outcomes, send } = setUp()
  const slow = send(60_000)
  const fast = send()
  vi.advanceTimersByTime(1_000)
  expect(outcomes).toEqual({ [fast]: 'timed out' })
  vi.advanceTimersByTime(59_000)
  expect(outcomes[slow]).toBe('timed out')
})

it('measures the timeout from sending, which may follow the timeout of another request', () => {
  const { outcomes, send } = setUp({ maxInFlightRequests: 1 })
  const [first, second] = [send(), send()]
  vi.advanceTimersByTime(1_999)
  expect(outcomes).toEqual({ [first]: 'timed out' })
  vi.advanceTimersByTime(1)
  expect(outcomes[second]).toBe('timed out')
})

it('checks nothing after the connection has ended, and again after the next one', () => {
  const { queue, outcomes, send } = setUp()
  send()
  queue.destroy()
  expect(vi.getTimerCount()).toBe(0)
  queue.scheduleRequestTimeoutCheck()
  const next = send()
  vi.advanceTimersByTime(1_000)
  expect(outcomes[next]).toBe('timed out')
})
