import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { eventually } from './eventually.ts'
import { placesFile } from './places.ts'

/** The folder of the repository. */
export const ROOT = path.resolve(import.meta.dirname, '../../..')
const COMPILED = path.join(ROOT, 'node_modules/.cache/compiled')

// Tests send as fast as they can, all of it from one address.
const MANY_REQUESTS = {
  LIMIT_REDEEM_PER_MINUTE: '1000000',
  LIMIT_INGEST_PER_MINUTE: '1000000',
  LIMIT_DECIDE_PER_MINUTE: '1000000',
  LIMIT_REGISTER_PER_HOUR: '1000000',
  LIMIT_SIGN_IN_PER_MINUTE: '1000000',
  LIMIT_SIGN_IN_FAILURES: '1000000',
}

/** An app as a process of its own; `output` is what it has written. */
export type AppProcess = { process: ChildProcess; port: number; output: string[] }

/** Starts an app by its `main.ts` and waits until it is ready. @throws with what it wrote when it does not get ready */
export const startApp = async (
  entry: string,
  port: number,
  env: Record<string, string>,
  readyWithinMs: number,
): Promise<AppProcess> => {
  const child = spawn(process.execPath, [path.join(ROOT, entry)], {
    cwd: ROOT,
    env: {
      PATH: process.env.PATH,
      LOG_LEVEL: 'warn',
      // As in the images: a start takes half the time.
      NODE_COMPILE_CACHE: COMPILED,
      ...MANY_REQUESTS,
      GEOIP_DATABASE: placesFile,
      ...env,
      PORT: `${port}`,
      METRICS_PORT: '0',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output: string[] = []
  child.stdout.on('data', (chunk) => output.push(`${chunk}`))
  child.stderr.on('data', (chunk) => output.push(`${chunk}`))
  const running = { process: child, port, output }
  try {
    await eventually(
      `${entry} is ready`,
      async () => {
        if (child.exitCode !== null) throw new Error(`${entry} ended with ${child.exitCode}`)
        return (await fetch(`http://localhost:${port}/readyz`)).ok
      },
      readyWithinMs,
    )
  } catch (error) {
    child.kill('SIGKILL')
    throw new Error(`${entry} did not start:\n${output.join('')}`, { cause: error })
  }
  return running
}

/** Sends the signal and waits for the end; answers the exit code, null when the signal itself ended it. */
export const endApp = async (
  { process: child }: AppProcess,
  signal: NodeJS.Signals,
): Promise<number | null> => {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
  const ended = once(child, 'exit')
  child.kill(signal)
  const [code] = await ended
  return code
}
