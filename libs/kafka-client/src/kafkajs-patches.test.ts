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

it('wakes nobody while nothing is asked, nor for long after an answer', () => {
  const { send, answer } = setUp()
  expect(vi.getTimerCount()).toBe(0)
  answer(send())
  vi.advanceTimersByTime(1_000)
  expect(vi.getTimerCount()).toBe(0)
})

it('gives a request up when its time is over, and not before', () => {
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

it('does not wait for one that may take longer', () => {
  const { outcomes, send } = setUp()
  const patient = send(60_000)
  const hasty = send()
  vi.advanceTimersByTime(1_000)
  expect(outcomes).toEqual({ [hasty]: 'timed out' })
  vi.advanceTimersByTime(59_000)
  expect(outcomes[patient]).toBe('timed out')
})

it('times a request from when it is sent, which may be when another has been given up', () => {
  const { outcomes, send } = setUp({ maxInFlightRequests: 1 })
  const [first, second] = [send(), send()]
  vi.advanceTimersByTime(1_999)
  expect(outcomes).toEqual({ [first]: 'timed out' })
  vi.advanceTimersByTime(1)
  expect(outcomes[second]).toBe('timed out')
})

it('looks at nothing once the connection has ended, and again after the next', () => {
  const { queue, outcomes, send } = setUp()
  send()
  queue.destroy()
  expect(vi.getTimerCount()).toBe(0)
  queue.scheduleRequestTimeoutCheck()
  const next = send()
  vi.advanceTimersByTime(1_000)
  expect(outcomes[next]).toBe('timed out')
})
