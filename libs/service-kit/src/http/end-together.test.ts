import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { endTogether } from './end-together.ts'
import { type HttpServer, listen } from './http-server.ts'

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

  it('go to those who asked', async () => {
    answerAll = (waiting) => {
      for (const res of waiting) endTogether(res, `für ${res.req.url}`, 'utf8')
    }
    const answers = await askTogether()
    expect(answers).toEqual(answers.map((_, n) => ({ status: 'fulfilled', value: `für /${n}` })))
  })

  it('reach everybody else when one of them has gone', async () => {
    answerAll = (waiting) => {
      for (const res of waiting) endTogether(res, `for ${res.req.url}`, 'latin1')
      for (const { req } of waiting) if (req.url === '/2') req.socket.destroy()
    }
    const answers = await askTogether()
    expect(answers).toMatchObject(
      answers.map((_, n) => (n === 2 ? { status: 'rejected' } : { status: 'fulfilled', value: `for /${n}` })),
    )
  })
})
