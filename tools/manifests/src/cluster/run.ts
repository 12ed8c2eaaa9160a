import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'

type Options = { input?: string; env?: Record<string, string>; cwd?: string }

/** Runs a command and returns its standard output. @throws with its standard error when it fails */
export const run = (command: string, args: readonly string[], options: Options = {}): Promise<string> =>
  new Promise((resolve, reject) => {
    const { input = '', env = {}, cwd } = options
    const child = execFile(
      command,
      [...args],
      { cwd, env: { ...process.env, ...env }, encoding: 'utf8', maxBuffer: 256 * 1024 * 1024 },
      (error, stdout, stderr) => {
        if (error) reject(new Error(`${command} ${args.join(' ')}: ${stderr || error.message}`.trim()))
        else resolve(stdout)
      },
    )
    // A command that ends early closes its input.
    child.stdin?.on('error', () => {})
    child.stdin?.end(input)
  })

const POLL_INTERVAL_MS = 500

/** Repeats `probe` until it returns something truthy. @throws after `withinMs`, with the last error of `probe` */
export const until = async <T>(
  what: string,
  withinMs: number,
  probe: () => Promise<T | undefined | false>,
): Promise<T> => {
  const deadline = performance.now() + withinMs
  let last: unknown
  while (performance.now() < deadline) {
    try {
      const found = await probe()
      if (found) return found
    } catch (error) {
      last = error
    }
    await sleep(POLL_INTERVAL_MS)
  }
  throw new Error(`Not within ${withinMs / 1000} s: ${what}`, { cause: last })
}
