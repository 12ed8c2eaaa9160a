import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** A way to a server that a test can block; `port` stays the same. */
export type TcpProxy = {
  port: number
  /** How many connections there have been. */
  accepted(): number
  /** How many of them clients still have open. */
  open(): number
  /** Breaks every connection and refuses new ones, as a stopped server does. */
  cut(): Promise<void>
  /** Breaks every connection and takes new ones, as a network does that forgets them. */
  reset(): void
  /** Keeps connections open and carries nothing, as a server that hangs or a network that swallows packets. */
  freeze(): void
  /** Carries what clients say and drops what they are answered. */
  swallowAnswers(): void
  /** Carries at most so many bytes a second in each direction of a connection, each chunk `latencyMs` late. */
  slowDown(options: { bytesPerSecond: number; latencyMs: number }): void
  /** Carries everything again, what was held back included; connections that lost something are broken. */
  restore(): Promise<void>
  stop(): Promise<void>
}

/** Stands between a client and the server at `url` (its host and port). */
export const startTcpProxy = async (url: string): Promise<TcpProxy> => {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  let accepted = 0
  const clients = new Set<Socket>()
  let frozen = false
  let swallowing = false
  let slow: { bytesPerSecond: number; latencyMs: number; over: AbortSignal } | undefined
  let endSlowness = (): void => {}

  const carry = async (chunk: Buffer, from: Socket, to: Socket): Promise<void> => {
    if (slow) {
      from.pause()
      const tookMs = slow.latencyMs + (chunk.length / slow.bytesPerSecond) * 1000
      await sleep(tookMs, undefined, { signal: slow.over }).catch(() => {})
      if (!frozen) from.resume()
    }
    to.write(chunk)
  }

  const keep = (socket: Socket): void => {
    sockets.add(socket)
    if (frozen) socket.pause()
    socket.once('close', () => sockets.delete(socket))
    // A broken connection is what tests are about; the other side is told by the close.
    socket.on('error', () => socket.destroy())
  }
  const open = () =>
    createServer({ allowHalfOpen: true }, (client) => {
      accepted++
      clients.add(client)
      client.once('close', () => clients.delete(client))
      const upstream = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
      keep(client)
      keep(upstream)
      for (const [from, to] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        // What comes while a chunk is held up stays behind it.
        let last = Promise.resolve()
        from.on('data', (chunk) => {
          if (swallowing && from !== client) return
          last = last.then(() => carry(chunk, from, to))
        })
        from.on('end', () => {
          last = last.then(() => void to.end())
        })
        from.once('close', () => to.destroy())
      }
    })

  let server = open()
  server.listen(0)
  await once(server, 'listening')
  const { port: ownPort } = server.address() as AddressInfo

  const cut = async (): Promise<void> => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
  }
  return {
    port: ownPort,
    accepted: () => accepted,
    open: () => clients.size,
    cut,
    reset: () => {
      for (const socket of sockets) socket.destroy()
    },
    freeze: () => {
      frozen = true
      for (const socket of sockets) socket.pause()
    },
    swallowAnswers: () => {
      swallowing = true
    },
    slowDown: (options) => {
      const slowness = new AbortController()
      slow = { ...options, over: slowness.signal }
      endSlowness = () => slowness.abort()
    },
    restore: async () => {
      if (swallowing) for (const socket of sockets) socket.destroy()
      frozen = false
      swallowing = false
      slow = undefined
      endSlowness()
      for (const socket of sockets) socket.resume()
      if (server.listening) return
      server = open()
      server.listen(ownPort)
      await once(server, 'listening')
    },
    stop: cut,
  }
}
