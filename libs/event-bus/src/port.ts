import type { Topic } from '@waymark/contracts'

/** A record to publish. Records with the same key are delivered in the order of publishing. */
export type OutgoingRecord<T> = { key: string; value: T; headers?: Record<string, string> }

/** The same with its value as JSON text. */
export type SerializedRecord = OutgoingRecord<string>

/** Turns values into text once, wherever they go from there. */
export const serializeRecords = (records: readonly OutgoingRecord<unknown>[]): SerializedRecord[] =>
  records.map(({ key, value, headers }) =>
    headers ? { key, value: JSON.stringify(value), headers } : { key, value: JSON.stringify(value) },
  )

/** A record that a consumer is given. */
export type Delivery<T> = {
  topic: string
  partition: number
  offset: bigint
  key: string | null
  value: T
  headers: Record<string, string>
}

/** What became of one delivery: `drop` and `dead` go on without it, `dead` keeps it among the dead letters. */
export type Outcome = { kind: 'done' } | { kind: 'drop' | 'dead'; reason: string }

/** What a group of consumers does with the records of one topic. */
export type Subscription<T> = {
  /** Consumers of one group share the partitions; every group sees every record, from the oldest kept. */
  group: string
  topic: Topic<T>
  /**
   * Handles records of one partition, in order. Returning means that their effects are durable: the offset
   * is committed next. Throwing means retry: for ever when a dependency is away, and with ever smaller batches
   * when the data is at fault, until the culprit is found and dead-lettered. One outcome per delivery;
   * nothing returned means that all are done.
   */
  handle: (batch: Delivery<T>[], signal: AbortSignal) => Promise<Outcome[] | undefined>
  /** Most records handed over at once; 500 unless said. */
  maxBatchRecords?: number
}

/** A running subscription. */
export type Consumer = {
  /** Begins consuming in the background; an unreachable broker is tried again until it answers. */
  start(): Promise<void>
  /** Finishes what is being handled, commits it and leaves the group. */
  stop(): Promise<void>
}

/** Publishing to topics and consuming them, at least once. */
export type EventBus = {
  /**
   * Resolves once every record is durable: acknowledged by all in-sync replicas, or committed.
   * @throws BusUnavailableError when that was not known in time; the records may still arrive
   */
  publish<T>(topic: Topic<T>, records: readonly OutgoingRecord<T>[]): Promise<void>
  /** The same for values that are text already. @throws BusUnavailableError */
  publishSerialized(topic: Topic<unknown>, records: readonly SerializedRecord[]): Promise<void>
  subscribe<T>(subscription: Subscription<T>): Consumer
  /** Sends what was published and closes connections; stop the consumers first. */
  close(): Promise<void>
}

/** Both ways of publishing, by the one that takes text. */
export const publishing = (
  publishSerialized: EventBus['publishSerialized'],
): Pick<EventBus, 'publish' | 'publishSerialized'> => ({
  publish: (topic, records) => publishSerialized(topic, serializeRecords(records)),
  publishSerialized,
})

/** The bus did not confirm in time that records are durable. Whether they are is unknown. */
export class BusUnavailableError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'BusUnavailableError'
  }
}
