import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { eventually, freePort, startProcess } from '@waymark/testing/servers'
import type { Figures } from './benchmark.ts'
import { SERVER_CORE } from './cores.ts'

const ROOT = path.resolve(import.meta.dirname, '../../..')
// The kernel counts CPU time in ticks: 100 per second on every Linux that Node.js supports.
const MICROS_PER_TICK = 10_000

/** The V8 options of the images, from `deploy/docker/Dockerfile`. */
const NODE_OPTIONS = [
  '--expose-gc',
  '--max-semi-space-size=64',
  '--no-allocation-site-pretenuring',
  '--heap-growing-percent=200',
]

const READY_WITHIN_MS = 120_000

/** Resource use of one or several processes: CPU time since the start, and memory. */
export type Usage = { cpuMicros: number; peakRssMb: number; rssMb: number }

/** A server process with readable CPU and memory use. Linux only. */
export type Measured = {
  port: number
  /** `ownMb`: `rssMb` without files that processes share, such as the code of Node.js. */
  usage(): Promise<Usage & { ownMb: number }>
  stop(): Promise<void>
}

/**
 * Starts a server on its own core and waits until it answers. `profileTo` is a folder for a CPU profile, which slows
 * the process.
 */
export const startMeasured = async (
  { entry, env }: { entry: string; env: Record<string, string> },
  { profileTo }: { profileTo?: string | undefined } = {},
): Promise<Measured> => {
  // Its log, which names the port that it has chosen, is off.
  const port = await freePort()
  const profiling = profileTo === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileTo}`]
  const command = [process.execPath, ...NODE_OPTIONS, ...profiling, path.join(ROOT, entry)]
  const server = startProcess('taskset', ['--cpu-list', `${SERVER_CORE}`, ...command], {
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      LOG_LEVEL: 'error',
      METRICS_PORT: '0',
      // As in the images.
      NODE_COMPILE_CACHE: path.join(ROOT, 'node_modules/.cache/compiled'),
      ...env,
      PORT: `${port}`,
    },
  })
  const { child } = server
  child.stdout.pipe(process.stdout, { end: false })
  child.stderr.pipe(process.stderr, { end: false })
  try {
    await eventually(
      `${entry} is ready`,
      async () => (await fetch(`http://localhost:${port}/readyz`)).ok,
      READY_WITHIN_MS,
    )
  } catch (error) {
    await server.kill()
    throw error
  }
  return {
    port,
    usage: async () => {
      const status = await readFile(`/proc/${child.pid}/status`, 'utf8')
      return {
        cpuMicros: await cpuMicrosOf(child.pid),
        peakRssMb: megabytes(status, 'VmHWM'),
        rssMb: megabytes(status, 'VmRSS'),
        ownMb: megabytes(status, 'RssAnon'),
      }
    },
    stop: async () => {
      child.kill('SIGTERM')
      await server.ended
    },
  }
}

/** The CPU time of all threads of a process so far. */
export const cpuMicrosOf = async (pid: number | undefined): Promise<number> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  // The fields after the process name, which may contain spaces: utime and stime are the 14th and 15th.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * MICROS_PER_TICK
}

/** The measurement of `count` units, from the resource use before and after. */
export const figuresOf = (
  { count, seconds, p99Ms = null }: { count: number; seconds: number; p99Ms?: number | null },
  before: Usage,
  after: Usage,
): Figures => ({
  perSecond: count / seconds,
  cpuMicros: (after.cpuMicros - before.cpuMicros) / count,
  p99Ms,
  peakRssMb: after.peakRssMb,
  rssMb: after.rssMb,
})

const megabytes = (status: string, field: string): number =>
  Math.round(Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) / 1024)
