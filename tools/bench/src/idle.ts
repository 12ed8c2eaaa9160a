import { setTimeout as sleep } from 'node:timers/promises'
import type { Options } from './benchmark.ts'
import { startMeasured } from './measured-process.ts'
import { startServers } from './servers.ts'

const SERVICES = [
  'ingest-gateway',
  'enrichment-consumer',
  'persistence-consumer',
  'decision-service',
  'coupon-service',
  'link-redirector',
  'management-api',
  'email-consumer',
]
const SETTLING_S = 30
const MEASURED_S = 30
/** A core that is busy all the time, in µs per second. */
const ALL = 1_000_000

/** Prints what each service takes while nobody asks anything of it: CPU in per cent of a core, and memory. */
export const measureIdle = async (options: Options, print: (line: string) => void): Promise<void> => {
  const { env, dispose } = await startServers(options)
  try {
    for (const service of SERVICES) {
      const server = await startMeasured({ entry: `apps/${service}/src/main.ts`, env }, options)
      try {
        await sleep((options.quick ? 10 : SETTLING_S) * 1_000)
        const before = await server.usage()
        await sleep(MEASURED_S * 1_000)
        const after = await server.usage()
        const cpu = (after.cpuMicros - before.cpuMicros) / MEASURED_S / ALL
        print(`${service}: ${(cpu * 100).toFixed(1)} % CPU, ${after.rssMb} MB`)
      } finally {
        await server.stop()
      }
    }
  } finally {
    await dispose()
  }
}
