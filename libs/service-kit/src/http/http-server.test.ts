import { once } from 'node:events'
import { Agent, type RequestListener, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { closeAtStop, type HttpServer, listen } from './http-server.ts'

const agent = new Agent({ keepAlive: true, maxSockets: 1 })
afterEach(() => agent.destroy())

/** Sends a request over a keep-alive connection. */
const ask = async (port: number): Promise<string> => {
  const asked = request({ port, agent }).end()
  const [response] = await once(asked, 'response')
  let text = ''
  for await (const chunk of response) text += chunk
  return text
}

describe('a stopping server', () => {
  it('does not wait for an idle connection', async () => {
    const server = await listen((_req, res) => void res.end('answer'), 0)
    expect(await ask(server.port)).toBe('answer')
    await server.stop()
    await expect(fetch(`http://127.0.0.1:${server.port}`)).rejects.toThrow()
  })

  it('does not wait for a connection without a request', async () => {
    const server = await listen((_req, res) => void res.end('answer'), 0)
    const silent = connect(server.port)
    await once(silent, 'connect')
    // The server must have accepted the connection, not only the kernel.
    expect(await ask(server.port)).toBe('answer')
    await server.stop()
    await once(silent, 'close')
  })

  it('closes the connection of an endless response', async () => {
    const server = await listen((req, res) => {
      closeAtStop(req)
      res.write('for ever')
    }, 0)
    const asked = request({ port: server.port }).end()
    const [response] = await once(asked, 'response')
    await once(response, 'data')
    const aborted = once(response, 'error')
    await server.stop()
    await aborted
  })

  it('has an endless response end as its owner says', async () => {
    const server = await listen((req, res) => {
      closeAtStop(req, () => void res.end('the end'))
      res.setHeader('Connection', 'close')
      res.write('for ever, ')
    }, 0)
    const asked = request({ port: server.port }).end()
    const [response] = await once(asked, 'response')
    let text = ''
    response.on('data', (piece: Buffer) => {
      text += piece
    })
    await once(response, 'data')
    const ended = once(response, 'end')
    await server.stop()
    await ended
    expect(text).toBe('for ever, the end')
  })

  it('finishes requests in progress, accepts no new ones, and closes kept connections', async () => {
    const arrived = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    const server = await listen(async (_req, res) => {
      arrived.resolve()
      await released.promise
      res.end('answer')
    }, 0)
    const answer = ask(server.port)
    await arrived.promise
    const stopped = server.stop()
    await expect(fetch(`http://127.0.0.1:${server.port}`)).rejects.toThrow()
    released.resolve()
    expect(await answer).toBe('answer')
    await stopped
  })
})

describe('a draining server', () => {
  it('answers on new and kept connections, and closes each after its response', async () => {
    const server = await listen((_req, res) => void res.end('answer'), 0)
    expect(await ask(server.port)).toBe('answer')
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const stopped = server.stop({ drainMs: 1_000 })
    const kept = request({ port: server.port, agent }).end()
    const [answer] = await once(kept, 'response')
    expect(kept.reusedSocket).toBe(true)
    expect(answer.headers.connection).toBe('close')
    answer.resume()
    const fresh = await fetch(`http://127.0.0.1:${server.port}`)
    expect(await fresh.text()).toBe('answer')
    expect(fresh.headers.get('connection')).toBe('close')
    vi.advanceTimersByTime(1_000)
    await stopped
    await expect(fetch(`http://127.0.0.1:${server.port}`)).rejects.toThrow()
  })
})

it('reports a port that is in use', async () => {
  const first = await listen((_req, res) => void res.end(), 0)
  await expect(listen((_req, res) => void res.end(), first.port)).rejects.toThrow('EADDRINUSE')
  await first.stop()
})

describe('an invalid request', () => {
  const patience = { headersMs: 60_000, requestMs: 60_000, restMs: 60_000 }
  const impatience = { headersMs: 100, requestMs: 200, restMs: 60_000 }
  const handler: RequestListener = (req, res) => {
    if (req.url === '/early') return void res.end('answer')
    req.resume()
    req.on('end', () => res.end('answer'))
  }
  let server: HttpServer
  let impatient: HttpServer
  beforeAll(async () => {
    server = await listen(handler, 0, '127.0.0.1', patience)
    impatient = await listen(handler, 0, '127.0.0.1', impatience)
  })
  afterAll(() => Promise.all([server.stop(), impatient.stop()]))

  const answerTo = async (text: string, { port } = server): Promise<{ head: string; body: string }> => {
    const connection: Socket = connect(port)
    connection.write(text)
    let answer = ''
    for await (const chunk of connection) answer += chunk
    const [head = '', body = ''] = answer.split('\r\n\r\n')
    return { head, body }
  }

  it.each([
    ['a line that is no request', 'what?\r\n\r\n', 400],
    ['a header that is none', 'GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n', 400],
    ['two lengths', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab', 400],
    [
      'a length and chunks',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    ['chunks that are none', 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n', 400],
    ['no host', 'GET / HTTP/1.1\r\n\r\n', 400],
    ['two hosts', 'GET / HTTP/1.1\r\nHost: a\r\nHOST: b\r\n\r\n', 400],
    ['headers without an end', `GET / HTTP/1.1\r\nHost: a\r\nA: ${'a'.repeat(1_000_000)}\r\n\r\n`, 431],
    ['headers that never come', 'GET / HTTP/1.1\r\nHost: a\r\n', 408],
    ['a body that never comes', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab', 408],
    ['an expectation', 'POST / HTTP/1.1\r\nHost: a\r\nExpect: wonders\r\nContent-Length: 0\r\n\r\n', 417],
    ['a tunnel', 'CONNECT example.com:80 HTTP/1.1\r\nHost: example.com\r\n\r\n', 405],
  ])('%s is answered as JSON, and the connection closed', async (_what, text, status) => {
    const { head, body } = await answerTo(text, status === 408 ? impatient : server)
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(head.toLowerCase()).toContain('content-type: application/json')
    expect(head).toMatch(/^X-Request-Id: [0-9a-f-]{36}\r$/m)
    expect(JSON.parse(body)).toEqual({ error: expect.any(String) })
  })

  it('closes a connection whose client continues to send after the response', async () => {
    const brief = await listen(handler, 0, '127.0.0.1', { ...patience, restMs: 200 })
    onTestFinished(() => brief.stop())
    const early = 'POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab'
    const { head, body } = await answerTo(early, brief)
    expect(head).toMatch(/^HTTP\/1.1 200 /)
    expect(body).toBe('answer')
  })

  it('answers a proxy, which closes its connections, before it has sent a large request', async () => {
    const connection = connect({ port: server.port, allowHalfOpen: true })
    connection.write(
      'POST /early HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 8000000\r\n\r\n',
    )
    const [answer] = await once(connection, 'data')
    expect(String(answer)).toMatch(/^HTTP\/1.1 200 /)
    connection.end(Buffer.alloc(8_000_000))
    await expect(once(connection, 'close')).resolves.toEqual([false])
  })

  it('keeps a connection whose client sends the rest in time', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const connection = connect(server.port)
    onTestFinished(() => void connection.destroy())
    const expectAnswer = async () => {
      connection.write('GET /early HTTP/1.1\r\nHost: a\r\n\r\n')
      const [answer] = await once(connection, 'data')
      expect(String(answer)).toMatch(/^HTTP\/1.1 200 /)
    }
    connection.write('POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab')
    await once(connection, 'data')
    connection.write('cde')
    await expectAnswer()
    vi.advanceTimersByTime(patience.restMs + 100)
    await expectAnswer()
  })
})
