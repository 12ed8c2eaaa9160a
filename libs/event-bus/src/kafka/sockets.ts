import { connect, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { ISocketFactory } from 'kafkajs'

const KEEP_ALIVE_MS = 60_000

/**
 * The connections of a kafkajs client. It forgets a broker whose connection broke, and whoever held that broker, such as
 * a group its coordinator, connects it once more: nothing but this closes that connection, which keeps a process alive.
 */
export const createSockets = () => {
  const open = new Set<Socket>()
  const socketFactory: ISocketFactory = ({ host, port, ssl, onConnect }) => {
    const servername = isIP(host) === 0 ? { servername: host } : {}
    const socket = ssl
      ? connectTls({ host, port, ...servername, ...ssl }, onConnect)
      : connect({ host, port }, onConnect)
    // As all clients of Kafka do: the rest of a request shall not wait until the beginning is acknowledged.
    socket.setNoDelay(true)
    socket.setKeepAlive(true, KEEP_ALIVE_MS)
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    return socket
  }
  return {
    socketFactory,
    /** Closes what is still open. kafkajs listens to errors, and does not notice a close without one. */
    closeAll: (): void => {
      for (const socket of open) socket.destroy(new Error('the client is closed'))
    },
  }
}
