import { once } from 'node:events'
import { createServer } from 'node:net'

// For what must know a port before it listens: an address in links, an advertised listener, a server that restarts. Below
// the ephemeral ports, which outgoing connections may take. Each of the test processes that run together has its own part,
// because a port stays free until the process that it is for listens.
const [FIRST, PARTS, PORTS] = [12_000, 8, 2_250]
const start = FIRST + (Number(process.env.VITEST_POOL_ID ?? 0) % PARTS) * PORTS

// Two test runs begin at different places of a part.
let next = process.ppid % PORTS

const isFree = async (port: number): Promise<boolean> => {
  const server = createServer().listen(port)
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}

/** A port at which nothing listens: that of a protocol (RJE) that no system serves. `fetch` does not refuse it. */
export const CLOSED_PORT = 5

/** A TCP port that was free a moment ago, and that no other call in the test processes that run now has returned. */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = start + next
    next = (next + 1) % PORTS
    if (await isFree(port)) return port
  }
}
