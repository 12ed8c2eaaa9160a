import { setTimeout as sleep } from 'node:timers/promises'
import type { Options } from './benchmark.ts'
import { type Measured, startMeasured } from './measured-process.ts'
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
  'webhook-dispatcher',
]
/** The email consumer does not start without this. */
const MAIL = {
  MAIL_FROM: 'Bench <bench@shop.example>',
  MAIL_SECRET: 'not-a-secret-for-a-benchmark-only-0000',
  PUBLIC_URL: 'https://waymark.example',
  SMTP_URL: 'smtp://localhost:25',
}
const SETTLING_S = 30
const MEASURED_S = 30
/** A fully used core, in µs per second. */
const ALL = 1_000_000

/** Prints the CPU (percent of a core) and memory of each service without load. */
export const measureIdle = async (options: Options, print: (line: string) => void): Promise<void> => {
  const { env, dispose } = await startServers(options)
  const running: { service: string; server: Measured }[] = []
  const start = (service: string, { profileTo }: Partial<Options> = {}): Promise<Measured> =>
    startMeasured({ entry: `apps/${service}/src/main.ts`, env: { ...env, ...MAIL } }, { profileTo })
  try {
    // A compile cache, as in the images.
    for (const service of SERVICES) await (await start(service)).stop()
    for (const service of SERVICES) running.push({ service, server: await start(service, options) })
    await sleep(SETTLING_S * 1_000)
    const usages = () => Promise.all(running.map(({ server }) => server.usage()))
    const before = await usages()
    await sleep(MEASURED_S * 1_000)
    const after = await usages()
    for (const [index, { service }] of running.entries()) {
      const used = (after[index]?.cpuMicros ?? 0) - (before[index]?.cpuMicros ?? 0)
      const percent = (used / MEASURED_S / ALL) * 100
      print(
        `${service}: ${percent.toFixed(1)} % CPU, ${after[index]?.rssMb} MB, ${after[index]?.ownMb} MB of them its own`,
      )
    }
  } finally {
    await Promise.all(running.map(({ server }) => server.stop()))
    await dispose()
  }
}
