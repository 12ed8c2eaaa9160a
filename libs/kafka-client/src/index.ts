export { connectAdmin, createKafkaClients, type KafkaClient, type KafkaConnection } from './clients.ts'
export { createKafkaProducer } from './kafka-producer.ts'
export { partitionOf } from './partitions.ts'
