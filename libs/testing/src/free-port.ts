import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

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

/** A TCP port that was free a moment ago. It lies below the ephemeral ports, which outgoing connections may take. */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = randomInt(12_000, 30_000)
    if (await isFree(port)) return port
  }
}
