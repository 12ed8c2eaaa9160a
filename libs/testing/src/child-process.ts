import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'

/** A process that a test or a benchmark has started. */
export type TestProcess = {
  child: ChildProcessByStdio<Writable, Readable, Readable>
  /** What it has written to standard output so far. */
  stdout(): string
  /** What it has written to standard error so far. */
  stderr(): string
  /** What it has written so far, to either. */
  output(): string
  /** Its exit code, once it has ended and all output is read; null when a signal ended it. */
  ended: Promise<number | null>
  /** Kills the process, with its process group, and waits for the end. */
  kill(): Promise<void>
}

type Options = {
  cwd?: string
  env?: NodeJS.ProcessEnv
  uid?: number
  gid?: number
  /** Leaves standard input open, so that it can be written to and ended. */
  keepInputOpen?: boolean
  /** Leaves what it has started running when it ends or is killed, as the kernel does; until this process ends. */
  keepGroup?: boolean
}

const killGroup = (pid: number): void => {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    // Nobody is left in the group; macOS says EPERM.
    if (!['ESRCH', 'EPERM'].includes(`${(error as NodeJS.ErrnoException).code}`)) throw error
  }
}

/**
 * Kills a process group when this process ends in whatever way: Vitest ends its workers by SIGTERM, or by SIGKILL when
 * it is ended itself. The guard waits for the end of its input, which is held by this process alone.
 */
const guard = (pid: number): { release(): void } => {
  const shell = spawn('sh', ['-c', 'read -r line; kill -9 -$0', `${pid}`], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  shell.unref()
  return { release: () => void shell.kill('SIGKILL') }
}

/**
 * Starts a process as the leader of a process group of its own, with piped output. The group is killed when its leader
 * has ended and when this process ends. POSIX only.
 */
export const startProcess = (
  command: string,
  args: readonly string[],
  { keepInputOpen = false, keepGroup = false, ...options }: Options = {},
): TestProcess => {
  const child = spawn(command, args, { ...options, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
  const { pid } = child
  if (pid !== undefined) {
    const { release } = guard(pid)
    child.once('exit', () => {
      if (keepGroup) return
      release()
      killGroup(pid)
    })
  }
  const ended = once(child, 'close').then(([code]) => code as number | null)
  // Not every caller waits for the end; the failure to start a command is reported to those who do.
  ended.catch(() => {})
  // A process may end without having read its input.
  child.stdin.on('error', () => {})
  if (!keepInputOpen) child.stdin.end()
  let [stdout, stderr, output] = ['', '', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    output += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
    output += text
  })
  return {
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    output: () => output,
    ended,
    kill: async () => {
      // The end of the leader is the end of its group.
      child.kill('SIGKILL')
      await ended
    },
  }
}
