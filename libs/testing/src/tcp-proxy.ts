import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A door to a server that a test can shut: `cut` refuses and drops connections, `mend` lets them through again. */
export type TcpProxy = {
  port: number
  cut(): void
  /** Connections stay, and nothing gets through. */
  hang(): void
  mend(): void
  stop(): Promise<void>
}

/** Passes connections on to `host:port`. */
export const startTcpProxy = async (target: { host: string; port: number }): Promise<TcpProxy> => {
  let state: 'open' | 'cut' | 'hanging' = 'open'
  const sockets = new Set<Socket>()
  const keep = (socket: Socket): Socket => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    return socket.on('error', () => {})
  }
  const server = createServer((incoming) => {
    keep(incoming)
    if (state === 'cut') return void incoming.destroy()
    const outgoing = keep(connect(target))
    incoming.on('data', (data) => state === 'open' && outgoing.write(data))
    outgoing.on('data', (data) => state === 'open' && incoming.write(data))
    incoming.once('close', () => outgoing.destroy())
    outgoing.once('close', () => incoming.destroy())
  })
  const dropAll = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  server.listen(0)
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    cut: () => {
      state = 'cut'
      dropAll()
    },
    hang: () => {
      state = 'hanging'
    },
    mend: () => {
      // What was swallowed meanwhile is missing in the streams.
      if (state === 'hanging') dropAll()
      state = 'open'
    },
    stop: async () => {
      dropAll()
      server.close()
      await once(server, 'close')
    },
  }
}
