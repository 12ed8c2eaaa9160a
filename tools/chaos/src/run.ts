import { type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'

/**
 * Runs a command until it has ended. When `signal` aborts, the command gets SIGTERM.
 * @throws Error when it fails or cannot be started
 */
export const run = async (
  command: string,
  args: readonly string[],
  { signal, ...options }: SpawnOptions & { signal: AbortSignal },
): Promise<void> => {
  signal.throwIfAborted()
  const child = spawn(command, args, options)
  const end = (): void => void child.kill('SIGTERM')
  signal.addEventListener('abort', end)
  try {
    const [code] = await once(child, 'exit')
    if (code !== 0) throw new Error(`${command} ended with ${code ?? 'a signal'}`)
  } finally {
    signal.removeEventListener('abort', end)
  }
}
