import { readFileSync } from 'node:fs'
import type { Scope } from '@waymark/service-kit'

// Shorter than npm takes to start again, so that a new server never meets the old one.
const INTERVAL_MS = 50

/**
 * Ends this process like a SIGTERM when the npm that started it is gone. An `npm start` that was killed for good
 * would otherwise leave a server behind that holds the port and the data.
 */
export const stopWithParent = (scope: Scope): void => {
  const parent = process.ppid
  // npm runs scripts by a shell, which outlives it.
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
    // Only Linux tells; elsewhere the parent itself is watched and no more.
    return ''
  }
}

const isShellCommand = (pid: number): boolean => readProcess(pid, 'cmdline').split('\0')[1] === '-c'

const parentOf = (pid: number): number | undefined => {
  const status = /^PPid:\s+(\d+)$/m.exec(readProcess(pid, 'status'))
  return status ? Number(status[1]) : undefined
}
