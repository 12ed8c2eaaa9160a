import { appendFileSync, existsSync, readFileSync } from 'node:fs'

/** The file to which the processes of a test run append what they count; the reporter sets it. */
const FILE_VARIABLE = 'TEST_COUNTS_FILE'
/** The project of Vitest to which a process belongs; `vitest.config.ts` sets it. */
const PROJECT_VARIABLE = 'TEST_PROJECT'
/** The unit of CPU time in `/proc`, in ms. */
const TICK_MS = 10

type Counted = 'processes' | 'containers' | 'cpuMs'

/** What the processes of one project counted. */
export type RunCounts = Record<Counted, number>

/** Makes this process and those that it starts append their counts to a file. */
export const countInto = (file: string): void => {
  process.env[FILE_VARIABLE] = file
}

/** Adds to a count of this test run. Does nothing outside of a test run. */
export const count = (what: Counted, amount = 1): void => {
  const file = process.env[FILE_VARIABLE]
  // One line is written at once, so that lines of several processes do not mix.
  if (file !== undefined) appendFileSync(file, `${process.env[PROJECT_VARIABLE] ?? ''}\t${what}\t${amount}\n`)
}

/**
 * The CPU time in ms that this process has used, and on Linux also that of its children that have ended. Containers are
 * children of Docker, so their time is not included.
 */
export const usedCpuMs = (): number => {
  if (process.platform !== 'linux') {
    const { user, system } = process.cpuUsage()
    return Math.round((user + system) / 1000)
  }
  const stat = readFileSync('/proc/self/stat', 'utf8')
  // The name of the command, in parentheses, may contain spaces. After it, the fields 12 to 15 are utime, stime, cutime, cstime.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * TICK_MS, 0)
}

/** Reads the counts of a run by project. The counts of the global setup have no project. */
export const readCounts = (file: string): Map<string, RunCounts> => {
  const counts = new Map<string, RunCounts>()
  const lines = existsSync(file) ? readFileSync(file, 'utf8') : ''
  for (const line of lines.trimEnd().split('\n')) {
    const [project = '', what, amount] = line.split('\t')
    if (what !== 'processes' && what !== 'containers' && what !== 'cpuMs') continue
    const of = counts.get(project) ?? { processes: 0, containers: 0, cpuMs: 0 }
    of[what] += Number(amount)
    counts.set(project, of)
  }
  return counts
}
