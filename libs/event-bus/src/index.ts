export type { ClassifyError } from './delivery.ts'
export { openEmbeddedEventBus } from './embedded/embedded-event-bus.ts'
export { createKafkaEventBus, type KafkaOptions } from './kafka/kafka-event-bus.ts'
export { type MovedGroup, moveKafkaGroups } from './kafka/kafka-offsets.ts'
export { ensureKafkaTopics } from './kafka/kafka-topics.ts'
export {
  BusUnavailableError,
  type Consumer,
  type Delivery,
  type EventBus,
  type GroupLag,
  type Outcome,
  type OutgoingRecord,
  type PartitionLag,
  publishing,
  type SerializedRecord,
  serializeRecords,
} from './port.ts'
