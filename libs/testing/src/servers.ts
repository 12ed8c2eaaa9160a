// What benchmarks need as well as tests: nothing here asks for a test runner.
export { startKafka, startPostgres, startRedis } from './containers.ts'
export { eventually } from './eventually.ts'
export { freePort } from './free-port.ts'
