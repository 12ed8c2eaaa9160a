import { chown, readFile, stat, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { waitUntil } from './processes.ts'

/** Information about the holder of the lock, for error messages only. */
type Holder = { pid: number; host: string }

/** Another process used the data directory for the whole waiting time. */
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

// Keeps connections from being garbage-collected, which would release the lock.
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

// So that the owner of the directory can open the file after root has used it.
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
 * Locks `directory`, which must exist, for this process. The lock is a file lock of the operating system: it ends with
 * the process, and it works between containers. It is taken through SQLite, because Node.js has no file locks.
 * @returns the function that releases the lock, or undefined when another process holds it
 */
export const tryLockDataDir = async (directory: string): Promise<(() => Promise<void>) | undefined> => {
  // Do not open the file in another way, because closing any descriptor of it would release the lock.
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
 * Like `tryLockDataDir`, but waits up to `waitMs` milliseconds for another process.
 * @param options.dataDir the name of the directory in the error message
 * @throws DataDirInUseError
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
