// What benchmarks need as well as tests: nothing here asks for a test runner.
export { startProcess } from './child-process.ts'
export { startClickHouse, startKafka, startPostgres, startRedis, startTogether } from './containers.ts'
export { eventually } from './eventually.ts'
export { freePort } from './free-port.ts'
