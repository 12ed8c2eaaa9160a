export { createKafkaClients, type KafkaClient, type KafkaConnection } from './clients.ts'
export { connectAdmin } from './connect.ts'
export { KafkaUnavailableError } from './errors.ts'
export {
  createKafkaProducer,
  type KafkaProducer,
  type KafkaProducerOptions,
  type ProducerRecord,
} from './kafka-producer.ts'
export { partitionOf } from './partitioner.ts'
