import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { parseApiKey } from '@waymark/domain/key'
import { eventually, freePort, services, startNginx } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type Edit, numbered, type Processes, startProcesses } from './start-processes.ts'

type Json = Record<string, unknown>

const BULK = '/ofrep/v1/evaluate/flags'
const STREAM = '/ofrep/v1/event-stream'
const MANY = { LIMIT_DECIDE_PER_MINUTE: '1000000' }

describe.skipIf(!services)('streams of changed flags', () => {
  let processes: Processes
  let edit: Edit
  let edits = 0
  let inQuery: string

  beforeAll(async () => {
    processes = await startProcesses(2, { env: MANY })
    inQuery = `${STREAM}?apiKey=${processes.publicKey}`
    edit = await processes.addDecision('edited', numbered(edits))
    await eventually('both processes know it', async () => {
      const answers = await Promise.all([evaluate(0), evaluate(1)])
      return answers.every(({ body }) => valueIn(body) === edits)
    })
  })
  afterAll(() => processes?.stop())

  const change = () => edit(numbered(++edits))
  const portOf = (replica: number) => processes.ports[replica] ?? 0
  const evaluate = async (
    replica: number,
    { key = processes.publicKey, etag = '', query = '' } = {},
  ): Promise<{ status: number; etag: string; body: Json | null }> => {
    const response = await fetch(`http://localhost:${portOf(replica)}${BULK}${query}`, {
      method: 'POST',
      headers: {
        'X-API-Key': key,
        'Content-Type': 'application/json',
        ...(etag && { 'If-None-Match': etag }),
      },
      body: JSON.stringify({ context: { targetingKey: 'v' } }),
    })
    const text = await response.text()
    return {
      status: response.status,
      etag: response.headers.get('ETag') ?? '',
      body: text === '' ? null : JSON.parse(text),
    }
  }
  const valueIn = (body: Json | null) => (body?.flags as { value: unknown }[] | undefined)?.[0]?.value

  /** Opens a stream on a connection of its own and collects what it sends. */
  const open = async (port: number, path = inQuery, headers: Record<string, string> = {}) => {
    const asked = request({ port, path, headers, agent: false }).end()
    onTestFinished(() => void asked.destroy())
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    const state = { text: '', end: '' }
    asked.on('error', () => {})
    response
      .setEncoding('utf8')
      .on('data', (text: string) => {
        state.text += text
      })
      .on('end', () => {
        state.end = 'ended'
      })
      .on('error', () => {
        state.end = 'broken'
      })
    return { status: response.statusCode, headers: response.headers, state, close: () => asked.destroy() }
  }
  const events = (text: string) =>
    [...text.matchAll(/^id: (.*)\nevent: message\ndata: (.*)$/gm)].map(([, id, data = '']) => ({
      id,
      data: JSON.parse(data) as { type: string; etag: string; lastModified: number },
    }))
  const lastIdIn = (text: string) => [...text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? ''
  /** Opens a stream that has sent all changes so far. */
  const openQuiet = async (port: number) => {
    const first = await open(port)
    await eventually('it has begun', () => lastIdIn(first.state.text) !== '')
    first.close()
    const stream = await open(port, inQuery, { 'Last-Event-ID': lastIdIn(first.state.text) })
    await eventually('it has begun', () => stream.state.text.includes('retry: '))
    return stream
  }

  it('are advertised to keys of browsers only, with the key of the browser', async () => {
    const { body } = await evaluate(0)
    expect(body?.eventStreams).toEqual([
      { type: 'sse', endpoint: { requestUri: inQuery }, inactivityDelaySec: 120 },
    ])
    const secret = await evaluate(0, { key: processes.apiKey })
    expect(secret.status).toBe(200)
    expect(secret.body).not.toHaveProperty('eventStreams')
  })

  it('cannot be buffered or cached, and may be read from pages of other sites', async () => {
    const { status, headers, state } = await open(portOf(0), inQuery, { Origin: 'https://shop.example' })
    expect(status).toBe(200)
    expect(headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'access-control-allow-origin': 'https://shop.example',
    })
    await eventually('it begins', () => /^retry: [1-4]\d{3}\n/.test(state.text))
  })

  it('tell a change in every process, and every process then evaluates the new flags', async () => {
    const [one, other] = [await openQuiet(portOf(0)), await openQuiet(portOf(1))]
    const before = [one, other].map(({ state }) => events(state.text).length)
    const { etag } = await evaluate(0)
    expect(await evaluate(0, { etag })).toMatchObject({ status: 304, body: null })
    await change()
    await eventually('one of them sends it', () =>
      [one, other].some(({ state }, n) => events(state.text).length > (before[n] ?? 0)),
    )
    const { data } = events([one, other].map(({ state }) => state.text).join('')).at(-1) ?? {}
    expect(data).toEqual({
      type: 'refetchEvaluation',
      etag: expect.stringMatching(/^"[\w-]+"$/),
      lastModified: expect.any(Number),
    })
    // Also a process that has not heard of it yet.
    const query = `?flagConfigEtag=${encodeURIComponent(data?.etag ?? '')}&flagConfigLastModified=${data?.lastModified}`
    for (const replica of [0, 1]) {
      const answer = await evaluate(replica, { etag, query })
      expect(answer.status).toBe(200)
      expect(valueIn(answer.body)).toBe(edits)
      expect(answer.etag).not.toBe(etag)
    }
    await eventually('both tell it', () =>
      [one, other].every(({ state }, n) => events(state.text).length > (before[n] ?? 0)),
    )
    expect(lastIdIn(one.state.text)).toBe(lastIdIn(other.state.text))
  })

  it('tell a client at once what it missed, whichever process it comes back to', async () => {
    const first = await openQuiet(portOf(0))
    const missed = lastIdIn(first.state.text)
    first.close()
    await change()
    await eventually('both know it', async () => {
      const answers = await Promise.all([evaluate(0), evaluate(1)])
      return answers.every(({ body }) => valueIn(body) === edits)
    })
    for (const replica of [0, 1]) {
      const again = await open(portOf(replica), inQuery, { 'Last-Event-ID': missed })
      await eventually('it is notified', () => events(again.state.text).length === 1)
      expect(lastIdIn(again.state.text)).not.toBe(missed)
    }
  })

  it('pass a proxy that buffers answers by default', async () => {
    // A proxy does not say which port it has.
    const port = await freePort()
    const proxy = await startNginx(`
      pid /tmp/nginx-${port}.pid;
      events {}
      http {
        access_log off;
        server {
          listen 127.0.0.1:${port};
          location / { proxy_pass http://127.0.0.1:${portOf(0)}; proxy_http_version 1.1; }
        }
      }`)
    onTestFinished(async () => {
      await proxy.container.stop({ timeout: 0 })
    })
    await eventually('the proxy answers', async () => (await fetch(`http://127.0.0.1:${port}/healthz`)).ok)
    const stream = await openQuiet(port)
    const before = events(stream.state.text).length
    await change()
    await eventually('it is notified', () => events(stream.state.text).length > before)
  })

  it.each([
    ['without a key', STREAM, {}, 401],
    ['with a key that is none', `${STREAM}?apiKey=nonsense`, {}, 401],
    ['with an unknown parameter', '?unknown=1', {}, 400],
  ])('are refused %s', async (_what, path, headers, status) => {
    const { state, ...refused } = await open(
      portOf(0),
      path.startsWith('?') ? `${inQuery}&unknown=1` : path,
      headers,
    )
    expect(refused.status).toBe(status)
    await eventually('it says why', () => state.end === 'ended')
    expect(JSON.parse(state.text)).toMatchObject({ error: expect.any(String), errorCode: 'GENERAL' })
  })

  it('take a secret key in the header, and not in the query', async () => {
    expect((await open(portOf(0), STREAM, { 'X-API-Key': processes.apiKey })).status).toBe(200)
    const { status, state } = await open(portOf(0), `${STREAM}?apiKey=${processes.apiKey}`)
    expect(status).toBe(403)
    await eventually('it says why', () => state.text.includes('only taken as X-API-Key'))
  })

  it('are limited for each project, with a JSON error', async () => {
    const { port } = await processes.start({
      env: MANY,
      flagStreams: { total: 10, perProject: 2, heartbeatMs: 15_000 },
    })
    const streams = [await open(port), await open(port)]
    expect(streams.map(({ status }) => status)).toEqual([200, 200])
    const refused = await open(port)
    expect(refused.status).toBe(429)
    expect(refused.headers['retry-after']).toBe('60')
    await eventually('it says why', () => refused.state.text.includes('FLAG_STREAMS_PER_PROJECT'))
    streams[0]?.close()
    await eventually('there is room again', async () => (await open(port)).status === 200)
  })

  it('are opened as often in a minute as the limit of the key allows', async () => {
    const headers = { 'X-API-Key': await processes.addKey(2) }
    const statuses: (number | undefined)[] = []
    for (let n = 0; n < 3; n++) statuses.push((await open(portOf(n % 2), STREAM, headers)).status)
    expect(statuses).toEqual([200, 200, 429])
  })

  it('tell 500 clients, end cleanly when the process stops, and have them return at different times', async () => {
    const { port, platform, stop } = await processes.start({ env: MANY })
    const streams = await Promise.all(Array.from({ length: 500 }, () => openQuiet(port)))
    const before = streams.map(({ state }) => events(state.text).length)
    await eventually('they are counted', async () =>
      /^waymark_flag_streams 500$/m.test(await platform.metrics.metrics()),
    )
    await change()
    await eventually('all are notified', () =>
      streams.every(({ state }, n) => events(state.text).length === (before[n] ?? 0) + 1),
    )
    expect(new Set(streams.map(({ state }) => lastIdIn(state.text))).size).toBe(1)
    await stop()
    await eventually('all have ended', () => streams.every(({ state }) => state.end !== ''))
    expect(new Set(streams.map(({ state }) => state.end))).toEqual(new Set(['ended']))
    const retries = streams.map(({ state }) => Number(/^retry: (\d+)$/m.exec(state.text)?.[1]))
    expect(Math.min(...retries)).toBeGreaterThanOrEqual(1_000)
    expect(Math.max(...retries)).toBeLessThan(5_000)
    expect(new Set(retries).size).toBeGreaterThan(100)
  })

  it('end when the key is revoked', async () => {
    const stream = await openQuiet(portOf(0))
    await processes.db.prisma.apiKey.update({
      where: { keyId: parseApiKey(processes.publicKey)?.keyId ?? '' },
      data: { revokedAt: new Date() },
    })
    await processes.noteChange()
    await eventually('it has ended', () => stream.state.end === 'ended')
    expect((await open(portOf(0))).status).toBe(401)
  })
})
