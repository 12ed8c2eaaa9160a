import { once } from 'node:events'
import { createServer, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Writable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type HttpServer, listen } from './http-server.ts'
import { sendStream } from './reply.ts'

const CLIENTS = 5

describe('answers that are ready at one moment', () => {
  let server: HttpServer
  let answerAll: (waiting: ServerResponse[]) => void
  beforeAll(async () => {
    const waiting: ServerResponse[] = []
    server = await listen((_req, res) => {
      if (waiting.push(res) === CLIENTS) answerAll(waiting.splice(0))
    }, 0)
  })
  afterAll(() => server.stop())

  const ask = async (path: string): Promise<string> => {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`)
    return response.text()
  }
  const askTogether = () => Promise.allSettled(Array.from({ length: CLIENTS }, (_, n) => ask(`/${n}`)))

  it('are sent to the right clients', async () => {
    answerAll = (waiting) => {
      for (const res of waiting) res.end(`für ${res.req.url}`)
    }
    const answers = await askTogether()
    expect(answers).toEqual(answers.map((_, n) => ({ status: 'fulfilled', value: `für /${n}` })))
  })

  it('reach all other clients when one has disconnected', async () => {
    answerAll = (waiting) => {
      for (const { req } of waiting) if (req.url === '/2') req.socket.destroy()
      for (const res of waiting) res.end(`for ${res.req.url}`)
    }
    const answers = await askTogether()
    expect(answers).toMatchObject(
      answers.map((_, n) => (n === 2 ? { status: 'rejected' } : { status: 'fulfilled', value: `for /${n}` })),
    )
  })
})

/** An endless text, and whether its source was released. */
const endless = () => {
  const state = { released: false, made: 0 }
  async function* text() {
    try {
      for (;;) {
        state.made++
        yield 'x'.repeat(64 * 1024)
      }
    } finally {
      state.released = true
    }
  }
  return { state, text: text() }
}

describe('a stream', () => {
  it('is sent completely to a client that exceeds the timeout in total, but not for one chunk', async () => {
    const taken: string[] = []
    const slow = new Writable({
      highWaterMark: 1,
      write: (chunk, _encoding, callback) => {
        taken.push(`${chunk}`)
        setImmediate(callback)
      },
    })
    async function* text() {
      for (let n = 0; n < 100; n++) yield `${n},`
    }
    await sendStream(slow, text(), 60_000)
    expect(taken.join('')).toBe(Array.from({ length: 100 }, (_, n) => `${n},`).join(''))
  })

  it.each(['a piece', 'the end'])('disconnects a client that does not read %s', async (what) => {
    const stalled = new Writable({ highWaterMark: 1, write: () => {} })
    const { state, text } = endless()
    async function* one() {
      yield 'x'
    }
    await sendStream(stalled, what === 'the end' ? one() : text, 20)
    expect(stalled.destroyed).toBe(true)
    if (what === 'a piece') expect(state).toEqual({ released: true, made: 1 })
  })

  it('disconnects a client that keeps its connection open and reads nothing', async () => {
    const { state, text } = endless()
    let answered: Promise<void> | undefined
    const server = createServer((_req, res) => {
      answered = sendStream(res, text, 100)
    }).listen(0)
    await once(server, 'listening')
    const client = request({ port: (server.address() as AddressInfo).port }).end()
    const [response] = await once(client, 'response')
    response.pause()
    await answered
    expect(state.released).toBe(true)
    client.destroy()
    server.close()
  })

  it('passes on errors of its source', async () => {
    async function* broken() {
      yield 'x'
      throw new Error('the database is unavailable')
    }
    const reader = new Writable({ write: (_chunk, _encoding, callback) => callback() })
    await expect(sendStream(reader, broken(), 60_000)).rejects.toThrow('the database is unavailable')
  })
})
