import { readFileSync } from 'node:fs'
import type { Scope } from '@waymark/service-kit'

// Shorter than a start of npm, so that the old server has stopped before a new one starts.
const INTERVAL_MS = 50

/**
 * Stops this process with SIGTERM when its npm has ended. Otherwise a killed `npm start` would leave a server that holds the
 * port and the data directory.
 */
export const stopWithParent = (scope: Scope): void => {
  const parent = process.ppid
  // npm starts a shell, which outlives it.
  const npm = isShellCommand(parent) ? parentOf(parent) : undefined
  const watch = setInterval(() => {
    if (process.ppid === parent && (npm === undefined || parentOf(parent) === npm)) return
    clearInterval(watch)
    process.kill(process.pid, 'SIGTERM')
  }, INTERVAL_MS)
  scope.onStop('parent watch', async () => clearInterval(watch))
}

const readProcess = (pid: number, file: string): string => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    // /proc exists only on Linux; elsewhere only the direct parent is watched.
    return ''
  }
}

const isShellCommand = (pid: number): boolean => readProcess(pid, 'cmdline').split('\0')[1] === '-c'

const parentOf = (pid: number): number | undefined => {
  const status = /^PPid:\s+(\d+)$/m.exec(readProcess(pid, 'status'))
  return status ? Number(status[1]) : undefined
}
