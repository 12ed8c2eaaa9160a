import { connect, isIP, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import type { Log } from '@waymark/contracts/log'
import kafkajs, {
  type Admin,
  type ISocketFactory,
  type Kafka,
  type KafkaConfig,
  type logCreator,
  type SASLOptions,
} from 'kafkajs'
import pTimeout from 'p-timeout'
import { loadedKafkajs, patchRequestTimers, requirePatched, sendEncodedBatches } from './kafkajs-patches.ts'
import { registerZstd } from './zstd-codec.ts'

// These change kafkajs itself, for every client of this process.
registerZstd()
patchRequestTimers()
sendEncodedBatches()
requirePatched(loadedKafkajs())

/** How to reach the brokers. */
export type KafkaConnection = {
  brokers: string[]
  clientId: string
  /** Connects by TLS. The values are PEM texts. */
  tls?: { ca?: string; cert?: string; key?: string }
  sasl?: { mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'; username: string; password: string }
}

/** A kafkajs client, its connection timeout in ms, and a way to close the connections that kafkajs no longer tracks. */
export type KafkaClient = { kafka: Kafka; connectionMs: number; closeAll: () => void }

/**
 * Returns a factory of clients. Each starts with another broker than the one before, because kafkajs asks its first
 * broker again after a failure.
 * @param timeouts `connectionMs` for connecting to one broker, `requestMs` for one response
 */
export const createKafkaClients = (
  { brokers, clientId, tls, sasl }: KafkaConnection,
  { connectionMs, requestMs }: { connectionMs: number; requestMs: number },
  log: Log,
): (() => KafkaClient) => {
  const config: Omit<KafkaConfig, 'brokers'> = {
    clientId,
    connectionTimeout: connectionMs,
    requestTimeout: requestMs,
    retry: { retries: 0 },
    logCreator: logTo(log),
    ...(tls && { ssl: tls }),
    ...(sasl && { sasl: saslOptions(sasl) }),
  }
  // Processes should not all start with the same broker.
  let first = Math.floor(Math.random() * brokers.length)
  return () => {
    first = (first + 1) % brokers.length
    const { socketFactory, closeAll } = createSockets()
    const rotated = [...brokers.slice(first), ...brokers.slice(0, first)]
    const kafka = new kafkajs.Kafka({ ...config, socketFactory, brokers: rotated })
    return { kafka, connectionMs, closeAll }
  }
}

const saslOptions = ({ mechanism, ...credentials }: NonNullable<KafkaConnection['sasl']>): SASLOptions => {
  // The types of kafkajs need each mechanism as a literal.
  switch (mechanism) {
    case 'plain':
      return { mechanism, ...credentials }
    case 'scram-sha-256':
      return { mechanism, ...credentials }
    case 'scram-sha-512':
      return { mechanism, ...credentials }
  }
}

// kafkajs logs every retry as an error. Failures that matter are logged by the caller.
const logTo =
  (log: Log): logCreator =>
  () =>
  ({ namespace, log: { message, error } }) =>
    log.debug({ kafkajs: namespace, error: typeof error === 'string' ? error : undefined }, message)

const KEEP_ALIVE_MS = 60_000

/**
 * Tracks the sockets of a kafkajs client. kafkajs forgets a broker whose connection broke, but a consumer group still
 * reconnects to it as its coordinator. Nothing else closes that socket, which keeps the process alive.
 */
const createSockets = () => {
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
      for (const socket of open) socket.destroy(new Error('The Kafka client is closed'))
    },
  }
}

/** Between attempts to connect, in ms. */
const PAUSE_MS = 50

type Client = { connect(): Promise<void>; disconnect(): Promise<void> }

/**
 * Connects a client within `ms`. The connection timeout of kafkajs covers only the TCP connection, which a broker that
 * hangs still accepts.
 * @throws Error on timeout, and what kafkajs throws
 */
export const connectWithin = async <C extends Client>(ms: number, client: C): Promise<C> => {
  try {
    await pTimeout(client.connect(), { milliseconds: ms, message: `Kafka did not answer within ${ms} ms` })
    return client
  } catch (error) {
    void client.disconnect().catch(() => {})
    throw error
  }
}

/**
 * Returns a connected admin client. Tries new clients until one connects or `withinMs` has passed.
 * @param withinMs for how long to start another attempt; there is always one
 * @param retries of each request of the returned client
 * @throws what the last attempt threw
 */
export const connectAdmin = async (
  newClient: () => KafkaClient,
  { withinMs, retries }: { withinMs: number; retries: number },
): Promise<Admin> => {
  const deadline = performance.now() + withinMs
  for (;;) {
    const { kafka, connectionMs } = newClient()
    try {
      return await connectWithin(connectionMs, kafka.admin({ retry: { retries } }))
    } catch (error) {
      if (performance.now() + PAUSE_MS > deadline) throw error
      await sleep(PAUSE_MS)
    }
  }
}
