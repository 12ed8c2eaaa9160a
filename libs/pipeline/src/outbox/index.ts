export { type BackgroundPublisher, createBackgroundPublisher } from './background-publisher.ts'
export { createBatcher } from './batcher.ts'
export { createIngestQueue, type IngestQueue } from './ingest-queue.ts'
export {
  addToOutbox,
  addToOutboxByPrisma,
  outboxStatement,
  readOldestWaiting,
  readOutboxDepth,
} from './outbox-queries.ts'
export { createOutboxRelay } from './outbox-relay.ts'
export { traceHeaders } from './trace-headers.ts'
