import { setTimeout as sleep } from 'node:timers/promises'
import type { Admin, Kafka } from 'kafkajs'
import pTimeout from 'p-timeout'

const PAUSE_MS = 50

/** A client of kafkajs, how long it may take to connect, in ms, and how to close connections that it has lost sight of. */
export type KafkaClient = { kafka: Kafka; connectionMs: number; closeAll: () => void }

type Client = { connect(): Promise<void>; disconnect(): Promise<void> }

/**
 * Connects a client or gives it up. The connection time-out of kafkajs ends with the connection, and a broker that hangs
 * accepts one.
 * @throws when it is not connected after `ms`, and what kafkajs throws
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
 * A connected admin client. One that cannot be connected in its time is given up for a new one.
 * @param withinMs for how long another one may be tried; one always is
 * @param retries of each request that is made once it is connected
 * @throws what the last try threw
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
