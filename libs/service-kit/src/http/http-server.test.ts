import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { listen } from './http-server.ts'

const agent = new Agent({ keepAlive: true, maxSockets: 1 })
afterEach(() => agent.destroy())

/** Asks over the one connection that is kept alive. */
const ask = async (port: number): Promise<string> => {
  const asked = request({ port, agent }).end()
  const [response] = await once(asked, 'response')
  let text = ''
  for await (const chunk of response) text += chunk
  return text
}

describe('a stopping server', () => {
  it('does not wait for a connection that is idle', async () => {
    const server = await listen((_req, res) => void res.end('answer'), 0)
    expect(await ask(server.port)).toBe('answer')
    await server.stop()
    await expect(fetch(`http://127.0.0.1:${server.port}`)).rejects.toThrow()
  })

  it('does not wait for a connection on which nothing was asked', async () => {
    const server = await listen((_req, res) => void res.end('answer'), 0)
    const silent = connect(server.port)
    await once(silent, 'connect')
    // The server must have taken the connection, not only the kernel.
    expect(await ask(server.port)).toBe('answer')
    await server.stop()
    await once(silent, 'close')
  })

  it('answers what is under way, takes nothing new, and then closes its kept connection', async () => {
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
  it('goes on answering, on new connections and on kept ones, which end with the answer', async () => {
    const server = await listen((_req, res) => void res.end('answer'), 0)
    expect(await ask(server.port)).toBe('answer')
    const stopped = server.stop({ drainMs: 1_000 })
    const kept = request({ port: server.port, agent }).end()
    const [answer] = await once(kept, 'response')
    expect(kept.reusedSocket).toBe(true)
    expect(answer.headers.connection).toBe('close')
    answer.resume()
    const fresh = await fetch(`http://127.0.0.1:${server.port}`)
    expect(await fresh.text()).toBe('answer')
    expect(fresh.headers.get('connection')).toBe('close')
    await stopped
    await expect(fetch(`http://127.0.0.1:${server.port}`)).rejects.toThrow()
  })
})

it('says that a port is taken', async () => {
  const first = await listen((_req, res) => void res.end(), 0)
  await expect(listen((_req, res) => void res.end(), first.port)).rejects.toThrow('EADDRINUSE')
  await first.stop()
})
