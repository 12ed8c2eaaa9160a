import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { FLAG_STREAM_PATH } from '@waymark/contracts/http/decide'
import { eventually } from '@waymark/testing/servers'
import type { Options } from './benchmark.ts'
import { startMeasured } from './measured-process.ts'

/** Connections that are opened at the same time. */
const OPENING = 100
const CHANGES = { usual: 20, quick: 5 }
const PAUSE_MS = 2_000
/** How long the open streams are kept, to see whether memory grows. */
const HELD_S = { usual: 120, quick: 20 }

/** A client of one stream, and when it was last notified of a change. */
type Client = { socket: Socket; events: number; notifiedAt: number }

/**
 * Opens `count` streams of changed flags to one standalone process. Prints its memory, and the time from the answer of a
 * change until the first and the last client were notified.
 */
export const measureFlagStreams = async (
  options: Options,
  count: number,
  print: (line: string) => void,
): Promise<void> => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'waymark-'))
  // As root, the database runs as another user, who must be able to enter the directory.
  await chmod(dataDir, 0o755)
  const env = {
    WAYMARK_DATA_DIR: dataDir,
    WAYMARK_DEMO_DATA: 'off',
    LIMIT_DECIDE_PER_MINUTE: '100000000',
    FLAG_STREAMS: `${count}`,
    FLAG_STREAMS_PER_PROJECT: `${count}`,
  }
  const clients: Client[] = []
  const server = await startMeasured({ entry: 'apps/standalone/src/main.ts', env }, options)
  try {
    const demo = JSON.parse(await readFile(path.join(dataDir, 'demo.json'), 'utf8')) as Demo
    await write(server.port, demo, 'POST', '', { key: 'streamed', status: 'active', ...flag(0) })
    // Otherwise the first connections would measure what the process loads on first use.
    clients.push(await openStream(server.port, demo.apiKey))
    await sleep(PAUSE_MS)
    const before = await server.usage()
    let left = count - 1
    const open = async (): Promise<void> => {
      while (left-- > 0) clients.push(await openStream(server.port, demo.apiKey))
    }
    const openedAt = performance.now()
    await Promise.all(Array.from({ length: OPENING }, open))
    const seconds = (performance.now() - openedAt) / 1_000
    const opened = await server.usage()
    print(
      `${clients.length} streams opened in ${seconds.toFixed(1)} s: ${before.ownMb} MB before, ${opened.ownMb} MB after, ` +
        `${(((opened.ownMb - before.ownMb) * 1024) / clients.length).toFixed(1)} KB each`,
    )
    const times: { first: number; last: number }[] = []
    for (let n = 1; n <= (options.quick ? CHANGES.quick : CHANGES.usual); n++) {
      const events = clients.map((client) => client.events)
      await write(server.port, demo, 'PATCH', '/streamed', flag(n))
      const changedAt = performance.now()
      await eventually('all are notified', () =>
        clients.every((client, at) => client.events > (events[at] ?? 0)),
      )
      const delays = clients.map(({ notifiedAt }) => notifiedAt - changedAt)
      times.push({
        first: delays.reduce((a, b) => Math.min(a, b)),
        last: delays.reduce((a, b) => Math.max(a, b)),
      })
      await sleep(PAUSE_MS)
    }
    const firsts = times.map(({ first }) => first)
    const lasts = times.map(({ last }) => last)
    print(
      `${times.length} changes: first client notified after ${middle(firsts)} ms (at most ${most(firsts)}), ` +
        `last one after ${middle(lasts)} ms (at most ${most(lasts)})`,
    )
    const held = options.quick ? HELD_S.quick : HELD_S.usual
    const start = await server.usage()
    await sleep(held * 1_000)
    const end = await server.usage()
    const cpu = (end.cpuMicros - start.cpuMicros) / (held * 1_000_000)
    const lost = clients.filter(({ socket }) => socket.destroyed).length
    print(
      `${held} s with comments only: ${start.ownMb} MB, then ${end.ownMb} MB, ${(cpu * 100).toFixed(1)} % CPU, ` +
        `${lost} streams lost`,
    )
  } finally {
    for (const { socket } of clients) socket.destroy()
    await server.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
}

type Demo = { apiKey: string; projectId: string }

/** A decision that gives everyone the value `n`. */
const flag = (n: number) => ({ variants: [{ key: 'only', value: n }], fallbackVariant: 'only', rules: [] })

const write = async (
  port: number,
  { apiKey, projectId }: Demo,
  method: string,
  place: string,
  body: object,
): Promise<void> => {
  const response = await fetch(`http://localhost:${port}/api/projects/${projectId}/decisions${place}`, {
    method,
    headers: { 'X-API-Key': apiKey, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`The decision was not written: ${await response.text()}`)
}

/** Opens a stream, and resolves once it has begun. */
const openStream = async (port: number, apiKey: string): Promise<Client> => {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(`GET ${FLAG_STREAM_PATH} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${apiKey}\r\n\r\n`)
  const client: Client = { socket, events: 0, notifiedAt: 0 }
  const begun = Promise.withResolvers<void>()
  socket.on('error', begun.reject)
  socket.on('close', () => begun.reject(new Error('The stream was closed')))
  socket.on('data', (piece) => {
    const text = piece.toString('latin1')
    if (text.startsWith('HTTP/1.1 ') && !text.startsWith('HTTP/1.1 200'))
      return begun.reject(new Error(text.slice(0, 500)))
    if (text.includes('retry: ')) return begun.resolve()
    if (!text.includes('refetchEvaluation')) return
    client.events++
    client.notifiedAt = performance.now()
  })
  await begun.promise
  return client
}

const middle = (values: readonly number[]): number =>
  Math.round(values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN)
const most = (values: readonly number[]): number => Math.round(Math.max(...values))
