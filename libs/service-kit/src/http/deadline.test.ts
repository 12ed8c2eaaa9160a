import { request } from 'node:http'
import { AppError } from '@waymark/contracts/app-error'
import { createMemoryLog } from '@waymark/testing/unit'
import { Router } from 'express'
import { Registry } from 'prom-client'
import { afterEach, expect, it, vi } from 'vitest'
import { createHttpApp } from './create-http-app.ts'
import { answerLateWith, extendDeadline, extendDeadlineDuring } from './deadline.ts'
import { type HttpServer, listen } from './http-server.ts'
import { readBytes } from './read-bytes.ts'
import { mountRoutes, type Route, route } from './router.ts'

const DEADLINE_MS = 100
const endpoint = { method: 'post', path: '/' } as const
const never = new Promise<never>(() => {})
let server: HttpServer | undefined
afterEach(async () => {
  vi.useRealTimers()
  await server?.stop()
})

const stopClock = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })

const serve = async (handler: Route['handler'], deadlineMs = DEADLINE_MS): Promise<string> => {
  const app = createHttpApp({
    router: mountRoutes(Router(), [route(endpoint, handler as Parameters<typeof route>[1])]),
    trustedProxies: 0,
    isReady: () => true,
    log: createMemoryLog(),
    metrics: new Registry(),
    deadlineMs,
  })
  server = await listen(app, 0)
  return `http://127.0.0.1:${server.port}/`
}

it('answers 503 when a handler does not finish', async () => {
  const url = await serve(() => never)
  const response = await fetch(url, { method: 'POST' })
  expect(response.status).toBe(503)
  expect(await response.json()).toEqual({ error: 'STORE_UNAVAILABLE', retryAfter: 30 })
})

it('names what the handler waits for if that is not a store, only while it waits', async () => {
  const queueIsLate = () => new AppError('queue_unavailable', 'QUEUE_UNAVAILABLE', { retryAfter: 60 })
  const queueing = await serve((request) => answerLateWith(request, queueIsLate, never))
  const late = await fetch(queueing, { method: 'POST' })
  expect(await late.json()).toEqual({ error: 'QUEUE_UNAVAILABLE', retryAfter: 60 })
  await server?.stop()

  const storing = await serve(async (request) => {
    await answerLateWith(request, queueIsLate, Promise.resolve())
    return never
  })
  const later = await fetch(storing, { method: 'POST' })
  expect(await later.json()).toEqual({ error: 'STORE_UNAVAILABLE', retryAfter: 30 })
})

it('keeps the connection when the handler finishes or fails later', async () => {
  const late: PromiseWithResolvers<{ body: object }>[] = []
  const url = await serve(() => {
    const answering = Promise.withResolvers<{ body: object }>()
    late.push(answering)
    return answering.promise
  })
  expect((await fetch(url, { method: 'POST' })).status).toBe(503)
  late[0]?.resolve({ body: {} })
  expect((await fetch(url, { method: 'POST' })).status).toBe(503)
  late[1]?.reject(new Error('the store is unavailable'))
  expect((await fetch(url, { method: 'POST' })).status).toBe(503)
  expect(late).toHaveLength(3)
})

it('returns the answer of a handler within its time', async () => {
  stopClock()
  const url = await serve(async () => {
    vi.advanceTimersByTime(DEADLINE_MS - 1)
    return { body: { ok: true } }
  })
  expect((await fetch(url, { method: 'POST' })).status).toBe(200)
})

it('waits longer at the request of the handler', async () => {
  stopClock()
  const url = await serve(async (request) => {
    extendDeadline(request, 60_000)
    vi.advanceTimersByTime(3 * DEADLINE_MS)
    return { body: { ok: true } }
  })
  expect((await fetch(url, { method: 'POST' })).status).toBe(200)
})

it('answers 503 when the handler exceeds its extended deadline', async () => {
  const url = await serve((request) => {
    extendDeadline(request, DEADLINE_MS)
    return never
  })
  const response = await fetch(url, { method: 'POST' })
  expect(response.status).toBe(503)
  expect(await response.json()).toEqual({ error: 'STORE_UNAVAILABLE', retryAfter: 30 })
})

it('does not count the time that a client takes to send', async () => {
  stopClock()
  const begun = Promise.withResolvers<void>()
  const url = await serve(async ({ message }) => {
    begun.resolve()
    return { body: `${await readBytes(message, 100)}` }
  })
  const slow = request(url, { method: 'POST', headers: { 'Content-Length': 4 } })
  const answered = new Promise<number | undefined>((resolve) => {
    slow.once('response', (response) => {
      response.resume()
      resolve(response.statusCode)
    })
  })
  slow.write('ab')
  await begun.promise
  vi.advanceTimersByTime(2.5 * DEADLINE_MS)
  slow.end('cd')
  expect(await answered).toBe(200)
})

it('extends the deadline only while the work runs', async () => {
  stopClock()
  const working = await serve(async (request) => {
    const work = Promise.withResolvers<void>()
    const worked = extendDeadlineDuring(request, 60_000, work.promise)
    vi.advanceTimersByTime(2 * DEADLINE_MS)
    work.resolve()
    await worked
    return { status: 200, body: {} }
  })
  expect((await fetch(working, { method: 'POST' })).status).toBe(200)
  vi.useRealTimers()
  await server?.stop()

  const waiting = await serve(async (request) => {
    await extendDeadlineDuring(request, 60_000, Promise.resolve())
    return never
  })
  expect((await fetch(waiting, { method: 'POST' })).status).toBe(503)
})
