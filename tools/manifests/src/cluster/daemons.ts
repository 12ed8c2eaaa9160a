import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, openSync, readFileSync } from 'node:fs'
import path from 'node:path'

const STOP_MS = 20_000
const LOG_LINES = 15

/** Processes that run until `stop`. Each writes a log file into `folder`. */
export const createDaemons = (folder: string) => {
  mkdirSync(folder, { recursive: true })
  const running: { name: string; child: ChildProcess }[] = []
  const logOf = (name: string) => path.join(folder, `${name}.log`)
  process.on('exit', () => {
    for (const { child } of running) child.kill('SIGKILL')
  })

  return {
    start: (
      name: string,
      command: string,
      args: readonly string[],
      env: Record<string, string> = {},
    ): void => {
      const log = openSync(logOf(name), 'w')
      const child = spawn(command, args, { stdio: ['ignore', log, log], env: { ...process.env, ...env } })
      child.on('error', () => {})
      running.push({ name, child })
    },
    /** @throws with the end of its log when a process has ended */
    check: (): void => {
      for (const { name, child } of running) {
        if (child.exitCode === null && child.signalCode === null && child.pid !== undefined) continue
        const end = readFileSync(logOf(name), 'utf8').trimEnd().split('\n').slice(-LOG_LINES).join('\n')
        throw new Error(`${name} has ended with ${child.exitCode ?? child.signalCode}:\n${end}`)
      }
    },
    /** Stops all, the last one first. */
    stop: async (): Promise<void> => {
      for (const { child } of running.splice(0).reverse()) {
        if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) continue
        const ended = once(child, 'exit')
        child.kill('SIGTERM')
        const killing = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
        await ended
        clearTimeout(killing)
      }
    },
  }
}

export type Daemons = ReturnType<typeof createDaemons>
