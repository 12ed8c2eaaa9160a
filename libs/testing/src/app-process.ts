import path from 'node:path'
import { startProcess, type TestProcess } from './child-process.ts'
import { eventually } from './eventually.ts'
import { placesFile } from './places.ts'

/** The folder of the repository. */
export const ROOT = path.resolve(import.meta.dirname, '../../..')
/** The compile cache of Node, as in the images: it halves the time of a start. */
export const COMPILED = { NODE_COMPILE_CACHE: path.join(ROOT, 'node_modules/.cache/compiled') }

/** The log line of a server that listens. */
const LISTENING = /"port":(\d+)[^\n]*"Listening"/

/** A start usually takes 2 s, but up to a minute on a busy machine. */
const READY_WITHIN_MS = 120_000

// Tests send many requests from one address.
const MANY_REQUESTS = {
  LIMIT_REDEEM_PER_MINUTE: '1000000',
  LIMIT_INGEST_PER_MINUTE: '1000000',
  LIMIT_DECIDE_PER_MINUTE: '1000000',
  LIMIT_PROFILE_PER_MINUTE: '1000000',
  LIMIT_REGISTER_PER_HOUR: '1000000',
  LIMIT_SIGN_IN_PER_MINUTE: '1000000',
  LIMIT_SIGN_IN_FAILURES: '1000000',
}

/** An app in its own process. */
export type AppProcess = TestProcess & { port: number }

/**
 * Starts an app by its `main.ts` and waits until it is ready. With port 0 the app chooses one. `root` is the folder of
 * another version, which may need a port.
 * @throws Error with its output when it does not start
 */
export const startApp = async (
  entry: string,
  wantedPort: number,
  env: Record<string, string>,
  root = ROOT,
): Promise<AppProcess> => {
  const app = startProcess(process.execPath, [path.join(root, entry)], {
    cwd: root,
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'test',
      LOG_LEVEL: wantedPort === 0 ? 'info' : 'warn',
      ...COMPILED,
      ...MANY_REQUESTS,
      // What a busy machine could not send is sent soon, as an installation does after 30 s.
      MAIL_RETRY_AFTER_MS: '1000',
      GEOIP_DATABASE: placesFile,
      ...env,
      PORT: `${wantedPort}`,
      METRICS_PORT: '0',
    },
  })
  let port = wantedPort
  try {
    const state = await eventually(
      `${entry} is ready`,
      async () => {
        if (app.child.exitCode !== null || app.child.signalCode !== null) return 'ended'
        if (port === 0) port = Number(LISTENING.exec(app.stdout())?.[1] ?? 0)
        return port !== 0 && (await fetch(`http://localhost:${port}/readyz`)).ok && 'ready'
      },
      READY_WITHIN_MS,
    )
    if (state === 'ended') throw new Error(`${entry} ended with ${await app.ended}`)
  } catch (error) {
    await app.kill()
    throw new Error(`${entry} did not start:\n${app.output()}`, { cause: error })
  }
  return { ...app, port }
}

/** Sends a signal and waits for the exit. Returns the exit code, or null when the signal killed the process. */
export const endApp = ({ child, ended }: AppProcess, signal: NodeJS.Signals): Promise<number | null> => {
  child.kill(signal)
  return ended
}
