/** Kafka did not confirm in time that records are durable. Whether they are is unknown. */
export class KafkaUnavailableError extends Error {
  override name = 'KafkaUnavailableError'
}
