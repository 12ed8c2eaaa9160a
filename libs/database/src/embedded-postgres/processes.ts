import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import path from 'node:path'

export type Log = (line: string) => void
export type OsUser = { name: string; uid: number; gid: number }
type RunResult = { ok: boolean; stdout: string; stderr: string }

const windowsVariables = ['SystemRoot', 'TEMP', 'TMP', 'USERPROFILE']

const childEnvironment = (): Record<string, string> => {
  if (process.platform !== 'win32') {
    // Without sbin in PATH, even root does not find useradd.
    return { PATH: `${process.env.PATH ?? ''}:/usr/bin:/bin:/usr/sbin:/sbin`, LC_ALL: 'C', TZ: 'UTC' }
  }
  const kept = windowsVariables.map((name) => [name, process.env[name] ?? ''])
  return { ...Object.fromEntries(kept), PATH: process.env.PATH ?? '', LC_ALL: 'C', TZ: 'UTC' }
}

/** Options of every child: a minimal environment, a directory that every user may enter, and the target user. */
export const childOptions = (user: OsUser | undefined) => ({
  cwd: path.parse(process.execPath).root,
  env: childEnvironment(),
  windowsHide: true,
  ...(user && { uid: user.uid, gid: user.gid }),
})

/** Runs a command to its end. Never rejects: a failure to start is reported in `stderr`. */
export const run = (command: string, args: string[], user?: OsUser): Promise<RunResult> =>
  new Promise<RunResult>((resolve) => {
    execFile(command, args, childOptions(user), (error, stdout, stderr) => {
      resolve({ ok: error === null, stdout, stderr: stderr.trim() || (error?.message ?? '') })
    })
    // Some failures to spawn (EPERM on a change of user) are thrown instead of emitted.
  }).catch((error: Error) => ({ ok: false, stdout: '', stderr: error.message }))

export const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * Distinguishes a process from a later one with the same pid, across reboots and container restarts.
 * `null` on systems other than Linux.
 */
export const startMark = async (pid: number): Promise<string | null> => {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8')
    // The command, in parentheses, may contain spaces. After it come the state and, in field 19, the start time.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? 'zombie' : `${boot.trim()}/${fields[19]}`
  } catch {
    return null
  }
}

/** Polls until `done` returns true. Returns false after `ms` milliseconds. */
export const waitUntil = async (done: () => boolean | Promise<boolean>, ms: number): Promise<boolean> => {
  const deadline = performance.now() + ms
  while (!(await done())) {
    if (performance.now() > deadline) return false
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  return true
}
