export { anyAnswers } from './any-answers.ts'
export { type AppProcess, COMPILED, endApp, ROOT, startApp } from './app-process.ts'
export { type ArchivingPostgres, startArchivingPostgres } from './archiving-postgres.ts'
export { anEnrichedEvent, anIngestRecord } from './builders.ts'
export { makeCertificate } from './certificate.ts'
export { runCommand, startProcess, type TestProcess } from './child-process.ts'
export { executeOnClickHouse } from './clickhouse-database.ts'
export { createClient, type Json, type Reply } from './client.ts'
export { type CollectedSpan, type Collector, startCollector } from './collector.ts'
export {
  type AppName,
  type Constellation,
  prepareDistributed,
  startDistributed,
  startStandalone,
} from './constellation.ts'
export {
  CONTAINER_START_MS,
  images,
  KAFKA_JVM,
  newContainer,
  startClickHouse,
  startKafka,
  startKafkaCluster,
  startNginx,
  startPostgres,
  startRedis,
  startTogether,
} from './containers.ts'
export { docker } from './docker.ts'
export { storeAsBefore } from './earlier-events-queries.ts'
export { eventually } from './eventually.ts'
export { extent } from './extent.ts'
export { CLOSED_PORT, freePort } from './free-port.ts'
export { createMemoryLog } from './memory-log.ts'
export * from './oidc-provider.ts'
export { pauseServer } from './pause-server.ts'
export { placesFile } from './places.ts'
export { startRawServer } from './raw-server.ts'
export { hasS3Server, type S3Server, startS3Server } from './s3-server.ts'
export { type SeededRandom, seededRandom } from './seeded-random.ts'
export { requireServices, type Services, services } from './services.ts'
export { copyStandaloneDatabase } from './standalone-database.ts'
export { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'
export { createTestDatabase, type TestDatabase } from './test-database.ts'
export { createTestRoles, type TestRoles } from './test-roles.ts'
export { PATIENCE_MS, untilAvailable } from './until-available.ts'
export { untilDisconnected } from './until-disconnected.ts'
export { usedMemory } from './used-memory.ts'
export { withinOneDay } from './within-one-day.ts'
