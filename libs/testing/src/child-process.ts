import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { count } from './run-counts.ts'

/** A process that a test or benchmark started. */
export type TestProcess = {
  child: ChildProcessByStdio<Writable, Readable, Readable>
  /** Its standard output so far. */
  stdout(): string
  /** Its standard error so far. */
  stderr(): string
  /** Both outputs so far. */
  output(): string
  /** Its exit code once all output is read, or null when a signal ended it. */
  ended: Promise<number | null>
  /** Kills the process group and waits for the exit. */
  kill(): Promise<void>
}

type Options = {
  cwd?: string
  env?: NodeJS.ProcessEnv
  uid?: number
  gid?: number
  /** Keeps standard input open for writing. */
  keepInputOpen?: boolean
  /** Keeps its child processes running after its exit, until this process ends. */
  keepGroup?: boolean
}

const killGroup = (pid: number): void => {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    // The group is empty. macOS reports EPERM.
    if (!['ESRCH', 'EPERM'].includes(`${(error as NodeJS.ErrnoException).code}`)) throw error
  }
}

/** Kills a process group when this process ends, also by SIGKILL: a shell waits for the end of its input. */
const guard = (pid: number): { release(): void } => {
  const shell = spawn('sh', ['-c', 'read -r line; kill -9 -$0', `${pid}`], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  shell.unref()
  return { release: () => void shell.kill('SIGKILL') }
}

/** The environment with the compile cache of this process, which halves the time that a program of Node takes to start. */
const withCompileCache = (env: NodeJS.ProcessEnv | undefined): NodeJS.ProcessEnv | undefined => {
  const { NODE_COMPILE_CACHE } = process.env
  return env && NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE, ...env } : env
}

/**
 * Starts a process in its own process group, with piped output. The group is killed when its leader or this process ends.
 * `env` replaces the environment of this process, except for the compile cache. POSIX only.
 */
export const startProcess = (
  command: string,
  args: readonly string[],
  { keepInputOpen = false, keepGroup = false, env, ...options }: Options = {},
): TestProcess => {
  count('processes')
  const child = spawn(command, args, {
    ...options,
    env: withCompileCache(env),
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
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
  // Prevents an unhandled rejection when a command cannot be started and the caller does not await `ended`.
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
      // The exit of the leader kills its group.
      child.kill('SIGKILL')
      await ended
    },
  }
}

/**
 * Runs a command to its end. Returns its standard output.
 * @throws Error with its output when it fails
 */
export const runCommand = async (
  command: string,
  args: readonly string[],
  { cwd, env = {} }: { cwd: string; env?: NodeJS.ProcessEnv },
): Promise<string> => {
  const { stdout, output, ended } = startProcess(command, args, { cwd, env: { ...process.env, ...env } })
  const code = await ended
  if (code !== 0) throw new Error(`${[command, ...args].join(' ')} ended with ${code}:\n${output()}`)
  return stdout()
}
