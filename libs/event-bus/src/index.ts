export { type EmbeddedLogOptions, openEmbeddedEventBus } from './embedded/embedded-event-bus.ts'
export { createKafkaEventBus, ensureKafkaTopics, type KafkaOptions } from './kafka/kafka-event-bus.ts'
export {
  BusUnavailableError,
  type Consumer,
  type Delivery,
  type EventBus,
  type Outcome,
  type OutgoingRecord,
  publishing,
  type SerializedRecord,
  type Subscription,
  serializeRecords,
  textOfKey,
} from './port.ts'
