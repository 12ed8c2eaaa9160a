import type { ConsumerGroup, Topic } from '@waymark/contracts/topics'

export { BusUnavailableError } from '@waymark/contracts/bus-unavailable-error'

/** A record to publish. Records with the same key are delivered in the order of publishing. */
export type OutgoingRecord<T> = { key: string; value: T; headers?: Record<string, string> }

/** The same with its value as JSON text. */
export type SerializedRecord = OutgoingRecord<string>

/** Serializes the values of records as JSON. */
export const serializeRecords = (records: readonly OutgoingRecord<unknown>[]): SerializedRecord[] =>
  records.map(({ key, value, headers }) =>
    headers ? { key, value: JSON.stringify(value), headers } : { key, value: JSON.stringify(value) },
  )

/** A record that a consumer receives. */
export type Delivery<T> = {
  topic: string
  partition: number
  offset: bigint
  key: string | null
  value: T
  headers: Record<string, string>
}

/** The outcome of one delivery. `drop` and `dead` skip the record, and `dead` stores it as a dead letter. */
export type Outcome = { kind: 'done' } | { kind: 'drop' | 'dead'; reason: string }

/** What a group of consumers does with the records of one topic. */
export type Subscription<T> = {
  /** Consumers of a group share the partitions. Every group gets every record, starting with the oldest one kept. */
  group: string
  topic: Topic<T>
  /**
   * Handles records of one partition, in order. When it resolves, their effects are durable and the offset is committed.
   * When it rejects, they are retried: without limit while a dependency is unavailable, otherwise in smaller and smaller
   * batches until the bad record is found and becomes a dead letter. Returns one outcome for each delivery, or undefined
   * when all are done.
   */
  handle: (batch: Delivery<T>[], signal: AbortSignal) => Promise<Outcome[] | undefined>
  /** Most records of one call of `handle` (500). */
  maxBatchRecords?: number
  /** Partitions of Kafka that are handled concurrently, if more than the configured number. */
  partitionsAtOnce?: number
}

/** A running subscription. */
export type Consumer = {
  /** Starts consuming in the background. Connects again until the broker answers. */
  start(): Promise<void>
  /** Finishes the current batches, commits them and leaves the group. */
  stop(): Promise<void>
}

/** The number of records of its topic that a group has yet to process, and where it is in each partition. */
export type GroupLag = { group: string; topic: string; records: number; partitions: readonly PartitionLag[] }

/** The offset of the record that a group processes next, and that after the last record. They are equal without lag. */
export type PartitionLag = { partition: number; next: bigint; end: bigint }

/** Publishes records to topics and consumes them, at least once. */
export type EventBus = {
  /**
   * Resolves once every record is durable: acknowledged by all in-sync replicas, or committed.
   * @throws BusUnavailableError when the bus did not confirm that in time; the records may still arrive
   */
  publish<T>(topic: Topic<T>, records: readonly OutgoingRecord<T>[]): Promise<void>
  /** Like `publish`, for values that are serialized already. @throws BusUnavailableError */
  publishSerialized(topic: Topic<unknown>, records: readonly SerializedRecord[]): Promise<void>
  subscribe<T>(subscription: Subscription<T>): Consumer
  /**
   * Reads the lag of groups, in their order, whether they have consumers or not. A group that has never committed lags
   * by all records that are kept.
   * @throws BusUnavailableError when the bus does not answer in time
   */
  readLag(groups: readonly ConsumerGroup[]): Promise<GroupLag[]>
  /** Sends the remaining records and closes connections. Stop the consumers first. */
  close(): Promise<void>
}

/** Both publish methods, from the one that takes serialized values. */
export const publishing = (
  publishSerialized: EventBus['publishSerialized'],
): Pick<EventBus, 'publish' | 'publishSerialized'> => ({
  publish: (topic, records) => publishSerialized(topic, serializeRecords(records)),
  publishSerialized,
})
