import type { Socket } from 'node:net'

/** What is being answered on each open connection. */
type Connections = ReadonlyMap<Socket, readonly unknown[]>

const LOOKS = 5

/**
 * Closes connections on which nothing is answered and nothing has come for `idleMs`, at the latest a fifth of that later.
 * Node's own `keepAliveTimeout` sets and clears a timer with each request, which takes 1 to 2 µs of it.
 * @returns what ends it
 */
export const closeIdleConnections = (connections: Connections, idleMs: number): (() => void) => {
  const quiet = new WeakMap<Socket, { bytesRead: number; since: number }>()
  const look = (): void => {
    const now = performance.now()
    for (const [connection, underWay] of connections) {
      const { bytesRead } = connection
      const known = quiet.get(connection)
      if (underWay.length > 0 || known?.bytesRead !== bytesRead)
        quiet.set(connection, { bytesRead, since: now })
      else if (now - known.since >= idleMs) connection.destroy()
    }
  }
  const looking = setInterval(look, idleMs / LOOKS)
  return () => clearInterval(looking)
}
