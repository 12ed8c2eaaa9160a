// What both benchmarks and tests use: nothing here depends on a test runner.

export { startProcess } from './child-process.ts'
export { executeOnClickHouse } from './clickhouse-database.ts'
export { startClickHouse, startKafka, startPostgres, startRedis, startTogether } from './containers.ts'
export { eventually } from './eventually.ts'
export { freePort } from './free-port.ts'
