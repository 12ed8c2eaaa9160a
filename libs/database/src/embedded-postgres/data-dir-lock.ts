import { randomUUID } from 'node:crypto'
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { isAlive, startMark, waitUntil } from './processes.ts'

type Holder = { pid: number; started: string | null }

/** Another live process works on the data directory, and went on doing so for as long as we waited. */
export class DataDirInUseError extends Error {
  readonly code = 'DATA_DIR_IN_USE'
  readonly pid: number
  readonly dataDir: string

  constructor(pid: number, dataDir: string) {
    super(
      `The data directory ${dataDir} is in use by process ${pid}: stop that one first, or use another directory`,
    )
    this.name = 'DataDirInUseError'
    this.pid = pid
    this.dataDir = dataDir
  }
}

const read = (file: string): Promise<string | undefined> => readFile(file, 'utf8').catch(() => undefined)

const parse = (text: string): Holder | undefined => {
  try {
    return JSON.parse(text) as Holder
  } catch {
    return undefined
  }
}

const lives = async ({ pid, started }: Holder): Promise<boolean> => {
  if (!isAlive(pid)) return false
  const now = await startMark(pid)
  return started === null || now === null || now === started
}

// Of two that find the same dead holder, the second would move the first one's new lock away: it puts it back.
const removeStale = async (file: string, stale: string): Promise<void> => {
  const aside = `${file}.${randomUUID()}`
  await rename(file, aside).catch(() => {})
  if ((await read(aside)) !== stale) await link(aside, file).catch(() => {})
  await rm(aside, { force: true })
}

/** Whether a live process holds the lock of this directory. */
export const isLocked = async (directory: string): Promise<boolean> => {
  const holder = parse((await read(path.join(directory, 'waymark.lock'))) ?? '')
  return holder !== undefined && lives(holder)
}

/**
 * Makes this process the only one to work in `directory`, which must exist. Waits up to `waitMs` milliseconds for
 * another one to end, then rejects with `DataDirInUseError`. Resolves to the function that gives the lock back.
 */
export const lockDataDir = async (
  directory: string,
  { dataDir = directory, waitMs }: { dataDir?: string; waitMs: number },
): Promise<() => Promise<void>> => {
  const file = path.join(directory, 'waymark.lock')
  const mine = JSON.stringify({ pid: process.pid, started: await startMark(process.pid), id: randomUUID() })
  let holder: Holder | undefined

  const tryOnce = async (): Promise<boolean> => {
    const found = await read(file)
    holder = found === undefined ? undefined : parse(found)
    if (holder && (await lives(holder))) return false
    if (found !== undefined) await removeStale(file, found)

    const ready = `${file}.${randomUUID()}`
    await writeFile(ready, mine)
    try {
      // Linking creates the lock with its contents in one step, and only where there is none.
      await link(ready, file)
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
      throw error
    } finally {
      await rm(ready, { force: true })
    }
  }

  if (!(await waitUntil(tryOnce, waitMs))) throw new DataDirInUseError(holder?.pid ?? 0, dataDir)
  return async () => {
    if ((await read(file)) === mine) await rm(file, { force: true })
  }
}
