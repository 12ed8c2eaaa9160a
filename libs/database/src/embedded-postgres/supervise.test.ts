import { eventually } from '@waymark/testing/unit'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Server, ServerExit } from './server.ts'
import { superviseServer } from './supervise.ts'

const killed: ServerExit = { code: null, signal: 'SIGKILL' }
const ended: ServerExit = { code: 0, signal: null }

const aServer = () => {
  const { promise: exited, resolve } = Promise.withResolvers<ServerExit>()
  const server: Server = { port: 5432, exited, stop: async () => resolve(ended) }
  return { server, die: () => resolve(killed) }
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** Supervision that records its pauses instead of waiting. */
const supervise = (first: Server, restart: () => Promise<Server>) => {
  const lines: string[] = []
  const pauses: number[] = []
  const supervised = superviseServer(
    first,
    restart,
    (line) => lines.push(line),
    async (ms) => void pauses.push(ms),
  )
  return { ...supervised, lines, pauses }
}

it('restarts a server each time it exits, if it ran for a minute', async () => {
  const first = aServer()
  let latest = first
  let started = 0
  const { exited, stop, pauses } = supervise(first.server, async () => {
    latest = aServer()
    started++
    return latest.server
  })
  for (let n = 1; n <= 20; n++) {
    vi.advanceTimersByTime(60_001)
    latest.die()
    await eventually('it is started again', () => started === n)
  }
  await stop()
  expect(await exited).toEqual(ended)
  expect(pauses).toEqual(Array.from({ length: 20 }, () => 0))
})

it('gives up after six starts in a row that failed, with growing pauses', async () => {
  const { server, die } = aServer()
  const restart = vi.fn(() => Promise.reject(new Error('no space')))
  const { exited, lines, pauses } = supervise(server, restart)
  die()
  expect(await exited).toEqual(killed)
  expect(restart).toHaveBeenCalledTimes(6)
  expect(pauses).toEqual([0, 500, 1_000, 2_000, 4_000, 8_000])
  expect(lines.at(-1)).toBe('PostgreSQL could not be started again: no space')
})

it('gives up when the server keeps exiting within a minute', async () => {
  const first = aServer()
  const restart = vi.fn(async () => {
    const { server, die } = aServer()
    die()
    return server
  })
  const { exited } = supervise(first.server, restart)
  first.die()
  expect(await exited).toEqual(killed)
  expect(restart).toHaveBeenCalledTimes(6)
})

it('stops while waiting for a restart', async () => {
  const { server, die } = aServer()
  const restart = vi.fn(() => Promise.reject(new Error('no space')))
  const supervised = superviseServer(server, restart, () => {})
  die()
  await eventually('it is started again', () => restart.mock.calls.length === 1)
  await supervised.stop()
  expect(restart).toHaveBeenCalledTimes(1)
})

it('stops a server that was being restarted', async () => {
  const [first, second] = [aServer(), aServer()]
  const { promise: restarted, resolve } = Promise.withResolvers<Server>()
  const restart = vi.fn(() => restarted)
  const { exited, stop } = supervise(first.server, restart)
  first.die()
  await eventually('it is started again', () => restart.mock.calls.length === 1)
  const stopped = stop()
  resolve(second.server)
  await stopped
  expect(await exited).toEqual(ended)
  expect(restart).toHaveBeenCalledTimes(1)
})
