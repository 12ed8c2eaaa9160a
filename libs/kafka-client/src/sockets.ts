import { connect, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { ISocketFactory } from 'kafkajs'

const KEEP_ALIVE_MS = 60_000

/**
 * Tracks the sockets of a kafkajs client. kafkajs forgets a broker whose connection broke, but a consumer group still
 * reconnects to it as its coordinator. Nothing else closes that socket, which keeps the process alive.
 */
export const createSockets = () => {
  const open = new Set<Socket>()
  const socketFactory: ISocketFactory = ({ host, port, ssl, onConnect }) => {
    const servername = isIP(host) === 0 ? { servername: host } : {}
    const socket = ssl
      ? connectTls({ host, port, ...servername, ...ssl }, onConnect)
      : connect({ host, port }, onConnect)
    // Without it the rest of a request waits until its first packet is acknowledged.
    socket.setNoDelay(true)
    socket.setKeepAlive(true, KEEP_ALIVE_MS)
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    return socket
  }
  return {
    socketFactory,
    /** Closes all open sockets. With an error, because kafkajs does not notice a close without one. */
    closeAll: (): void => {
      for (const socket of open) socket.destroy(new Error('the client is closed'))
    },
  }
}
