import { type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'

type Options = SpawnOptions & {
  signal: AbortSignal
  /** The signal that ends it; default: SIGTERM. */
  killSignal?: NodeJS.Signals
}

/**
 * Runs a command until it has ended. When `signal` aborts, the command and the processes that it started get `killSignal`.
 * @throws Error when it fails or cannot be started
 */
export const run = async (
  command: string,
  args: readonly string[],
  { signal, killSignal = 'SIGTERM', ...options }: Options,
): Promise<void> => {
  signal.throwIfAborted()
  // In a process group of its own, because npm and shells do not pass every signal on.
  const child = spawn(command, args, { ...options, detached: true })
  const end = (): void => {
    if (child.pid && child.exitCode === null) process.kill(-child.pid, killSignal)
  }
  signal.addEventListener('abort', end)
  try {
    const [code] = await once(child, 'exit')
    if (code !== 0) throw new Error(`${command} ended with ${code ?? 'a signal'}`)
  } finally {
    signal.removeEventListener('abort', end)
  }
}
