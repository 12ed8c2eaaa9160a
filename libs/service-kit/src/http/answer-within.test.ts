import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { createMemoryLog } from '@waymark/testing'
import express, { type RequestHandler } from 'express'
import { afterEach, expect, it } from 'vitest'
import { answerError } from './answer-error.ts'
import { answerWithin } from './answer-within.ts'
import { type HttpServer, listen } from './http-server.ts'

const DEADLINE_MS = 100
const endpoint = { method: 'post', path: '/' } as const
const log = createMemoryLog()
let server: HttpServer | undefined
afterEach(() => server?.stop())

const serve = async (...handlers: RequestHandler[]): Promise<string> => {
  const failed = answerError(log)
  const app = express().post('/', answerWithin(endpoint, failed, DEADLINE_MS), ...handlers)
  server = await listen(app.use(failed), 0)
  return `http://127.0.0.1:${server.port}/`
}

it('answers 503 when a handler never does', async () => {
  const url = await serve(() => {})
  const response = await fetch(url, { method: 'POST' })
  expect(response.status).toBe(503)
  expect(await response.json()).toEqual({ error: 'STORE_UNAVAILABLE', retryAfter: 30 })
})

it('keeps the connection when the handler answers or fails after that', async () => {
  const late: Promise<void>[] = []
  const url = await serve((_req, res) => {
    const answering = sleep(3 * DEADLINE_MS).then(() => void res.status(200).json({}))
    late.push(answering.catch(() => {}))
    return answering
  })
  expect((await fetch(url, { method: 'POST' })).status).toBe(503)
  await Promise.all(late)
  expect((await fetch(url, { method: 'POST' })).status).toBe(503)
  expect(late).toHaveLength(2)
})

it('lets a handler answer in time', async () => {
  const url = await serve(async (_req, res) => {
    await sleep(DEADLINE_MS / 2)
    res.json({ ok: true })
  })
  expect((await fetch(url, { method: 'POST' })).status).toBe(200)
})

it('does not count the time that a client takes to send', async () => {
  const url = await serve(express.text({ type: () => true }), (req, res) => void res.json({ got: req.body }))
  const slow = request(url, { method: 'POST', headers: { 'Content-Length': 4 } })
  const answered = new Promise<number | undefined>((resolve) => {
    slow.once('response', (response) => {
      response.resume()
      resolve(response.statusCode)
    })
  })
  slow.write('ab')
  await sleep(3 * DEADLINE_MS)
  slow.end('cd')
  expect(await answered).toBe(200)
})
