export { type AppProcess, endApp, startApp } from './app-process.ts'
export { anEnrichedEvent, anIngestRecord } from './builders.ts'
export { makeCertificate, type TestCertificate } from './certificate.ts'
export { type CollectedSpan, type Collector, startCollector } from './collector.ts'
export {
  type AppName,
  type Constellation,
  type DistributedWorld,
  prepareDistributed,
  startDistributed,
  startStandalone,
} from './constellation.ts'
export { images, startKafka, startKafkaCluster, startNginx, startPostgres, startRedis } from './containers.ts'
export { docker } from './docker.ts'
export { eventually } from './eventually.ts'
export { extent } from './extent.ts'
export { freePort } from './free-port.ts'
export { createMemoryLog } from './memory-log.ts'
export { pauseServer } from './pause-server.ts'
export { placesFile } from './places.ts'
export { requireServices, type Services, services } from './services.ts'
export { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'
export { createTestDatabase, type TestDatabase } from './test-database.ts'
