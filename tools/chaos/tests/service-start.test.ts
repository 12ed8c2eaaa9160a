import { readFile } from 'node:fs/promises'
import { migrate } from '@waymark/database'
import {
  createTestDatabase,
  endApp,
  eventually,
  freePort,
  ROOT,
  requireServices,
  services,
  startApp,
  startProcess,
} from '@waymark/testing'
import { describe, expect, it, onTestFinished } from 'vitest'

/** The unit of CPU time in `/proc`, in ms. */
const TICK_MS = 10
/**
 * A service has to answer within 5 s of a SIGKILL; on an idle machine that is its CPU time, about 1.5 s, and little else.
 * A slow and busy machine takes more than twice that.
 */
const START_CPU_MS = 8_000
const WAIT_MS = 1_500

const environment = (databaseUrl: string) => {
  const { kafkaBrokers, redisUrl } = requireServices()
  return {
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    KAFKA_BROKERS: kafkaBrokers.join(','),
    PUBLIC_URL: 'http://localhost',
  }
}

/** The CPU time of a process so far, in ms. Linux only. */
const cpuMsOf = async (pid: number): Promise<number> => {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8')
  // The name of the command, in parentheses, may contain spaces. After it, utime and stime are the 12th and 13th field.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}

describe.skipIf(!services).each(['link-redirector', 'decision-service'])('a start of %s', (app) => {
  const entry = `apps/${app}/src/main.ts`

  it.skipIf(process.platform !== 'linux')('after a SIGKILL waits for nothing but the processor', async () => {
    const database = await createTestDatabase()
    onTestFinished(() => database.drop())
    let started = await startApp(entry, 0, environment(database.url))
    onTestFinished(() => started.kill())
    await endApp(started, 'SIGKILL')
    const begunAt = performance.now()
    started = await startApp(entry, 0, environment(database.url))
    const tookMs = performance.now() - begunAt
    const cpuMs = await cpuMsOf(started.child.pid ?? 0)
    process.stdout.write(
      `start: ${app} ready ${Math.round(tookMs)} ms after its start, with ${cpuMs} ms of CPU time\n`,
    )
    expect(cpuMs).toBeLessThan(START_CPU_MS)
  })

  it('waits for migrations longer than for the database, alive but not ready', async () => {
    const database = await createTestDatabase({ empty: true })
    onTestFinished(() => database.drop())
    // While it waits, it does not say which port it has.
    const port = await freePort()
    const env = { PATH: process.env.PATH, ...environment(database.url), LOG_LEVEL: 'info' }
    const begunAt = performance.now()
    const waiting = startProcess(process.execPath, [`${ROOT}/${entry}`], {
      env: { ...env, PORT: `${port}`, METRICS_PORT: '0', DATABASE_WAIT_MS: `${WAIT_MS}` },
    })
    onTestFinished(() => waiting.kill())
    const statusOf = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status
    await eventually('it is alive', async () => (await statusOf('/healthz')) === 200)
    await eventually('it has waited for longer', () => performance.now() - begunAt > 3 * WAIT_MS + 5_000)
    expect([await statusOf('/healthz'), await statusOf('/readyz'), await statusOf('/s/code')]).toEqual([
      200, 503, 503,
    ])
    await migrate(database.url)
    await eventually('it is ready', async () => (await statusOf('/readyz')) === 200)
    expect(waiting.output()).toContain('The database lacks migrations')
    waiting.child.kill('SIGTERM')
    expect(await waiting.ended).toBe(0)
  })

  it('can be stopped while it waits', async () => {
    const database = await createTestDatabase({ empty: true })
    onTestFinished(() => database.drop())
    const port = await freePort()
    const waiting = startProcess(process.execPath, [`${ROOT}/${entry}`], {
      env: {
        PATH: process.env.PATH,
        PORT: `${port}`,
        METRICS_PORT: '0',
        DATABASE_WAIT_MS: `${WAIT_MS}`,
        ...environment(database.url),
      },
    })
    onTestFinished(() => waiting.kill())
    await eventually('it is alive', async () => (await fetch(`http://127.0.0.1:${port}/healthz`)).ok)
    waiting.child.kill('SIGTERM')
    expect(await waiting.ended).toBe(1)
  })
})
