import { chown, readFile, stat, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { waitUntil } from './processes.ts'

/** What the holder writes down for the message to others. It decides nothing: process ids and names may repeat. */
type Holder = { pid: number; host: string }

/** Another process works on the data directory, and went on doing so for as long as we waited. */
export class DataDirInUseError extends Error {
  readonly code = 'DATA_DIR_IN_USE'
  readonly pid: number | undefined
  readonly dataDir: string

  constructor(dataDir: string, holder: Holder | undefined) {
    const by = holder ? `process ${holder.pid} on host ${holder.host}` : 'another process'
    super(`The data directory ${dataDir} is in use by ${by}: stop that one first, or use another directory`)
    this.name = 'DataDirInUseError'
    this.pid = holder?.pid
    this.dataDir = dataDir
  }
}

/** `SQLITE_BUSY`: another connection holds the lock. */
const BUSY = 5

// A connection that is collected as garbage would give its lock back.
const held = new Set<DatabaseSync>()

const acquire = (file: string): DatabaseSync | undefined => {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(file)
    database.exec('BEGIN EXCLUSIVE')
    held.add(database)
    return database
  } catch (error) {
    database?.close()
    const { errcode, message } = error as Error & { errcode?: number }
    if (errcode === BUSY) return undefined
    throw new Error(
      `The lock file ${file} cannot be locked (${message}): check that this user may write it, ` +
        'and that its file system supports locks',
      { cause: error },
    )
  }
}

// Else an ordinary user, whose directory root has used, could not open the file.
const giveToOwnerOf = async (directory: string, file: string): Promise<void> => {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = await stat(directory)
  await chown(file, uid, gid)
}

const readHolder = async (file: string): Promise<Holder | undefined> => {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Holder
  } catch {
    return undefined
  }
}

/**
 * Makes this process the only one to work in `directory`, which must exist, or resolves to undefined when another one
 * does. The lock is the operating system's, on an open file: it ends with the process, however that ends, and also
 * counts between containers, where process ids mean nothing. SQLite takes it, because Node.js itself has no file locks.
 * Resolves to the function that gives the lock back.
 */
export const tryLockDataDir = async (directory: string): Promise<(() => Promise<void>) | undefined> => {
  // Never deleted, and never opened by other means: closing any other descriptor of it would end the lock.
  const file = path.join(directory, 'owner.lock')
  const database = acquire(file)
  if (!database) return undefined
  const release = async (): Promise<void> => {
    if (held.delete(database)) database.close()
  }
  try {
    const holderFile = path.join(directory, 'owner.json')
    const holder: Holder = { pid: process.pid, host: os.hostname() }
    await writeFile(holderFile, JSON.stringify(holder))
    for (const each of [file, holderFile]) await giveToOwnerOf(directory, each)
    return release
  } catch (error) {
    await release()
    throw error
  }
}

/**
 * The same, but waits up to `waitMs` milliseconds for another process to end, then rejects with `DataDirInUseError`.
 * `dataDir` is what the user calls the directory.
 */
export const lockDataDir = async (
  directory: string,
  { dataDir = directory, waitMs }: { dataDir?: string; waitMs: number },
): Promise<() => Promise<void>> => {
  let release: (() => Promise<void>) | undefined
  const tryOnce = async (): Promise<boolean> => {
    release = await tryLockDataDir(directory)
    return release !== undefined
  }
  await waitUntil(tryOnce, waitMs)
  if (release) return release
  throw new DataDirInUseError(dataDir, await readHolder(path.join(directory, 'owner.json')))
}
