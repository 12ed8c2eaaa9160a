import { createServer, type Server, type Socket } from 'node:net'

/** A server that answers each connection with the bytes that `answer` returns, whatever it is sent. */
export const startRawServer = async (
  answer: () => Buffer,
): Promise<{ port: number; close: () => Promise<void> }> => {
  const open = new Set<Socket>()
  const server: Server = createServer((socket) => {
    open.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => open.delete(socket))
    socket.once('data', () => socket.end(answer()))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    close: async () => {
      for (const socket of open) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
