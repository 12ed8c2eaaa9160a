import { setTimeout as sleep } from 'node:timers/promises'
import type { Admin } from 'kafkajs'
import pTimeout from 'p-timeout'
import type { KafkaClient } from './clients.ts'

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
