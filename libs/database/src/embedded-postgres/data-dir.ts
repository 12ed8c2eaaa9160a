import { createHash } from 'node:crypto'
import {
  access,
  chown,
  constants,
  lchown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  rmdir,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import path from 'node:path'
import { createSystemDirectory, systemDirectory } from './binaries.ts'
import { lockDataDir, tryLockDataDir } from './data-dir-lock.ts'
import { canEnter, systemUser, userOf } from './os-user.ts'
import type { Log, OsUser } from './processes.ts'

/**
 * `directory` contains `data` (of PostgreSQL), `password` and the locks. `user` must run PostgreSQL, unless undefined.
 */
type DataDir = { directory: string; user: OsUser | undefined; release(): Promise<void> }

type Options = {
  dataDir: string
  waitMs: number
  log: Log
  /** Stops a server that a killed process left behind in this `data` directory. */
  stopLeftServer(data: string): Promise<void>
}

const markerName = 'linked-from'

const unlessMissing = <T>(promise: Promise<T>): Promise<T | undefined> =>
  promise.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })

const isRoot = () => process.getuid?.() === 0

const succeeds = (promise: Promise<unknown>): Promise<boolean> =>
  promise.then(
    () => true,
    () => false,
  )

// A user who deletes the data directory wants a new database, but deleting it removed only the link.
const removeAbandoned = async (prefix: string, { dataDir, log, stopLeftServer }: Options): Promise<void> => {
  for (const name of await readdir(systemDirectory)) {
    const directory = path.join(systemDirectory, name)
    if (!name.startsWith(prefix)) continue
    if ((await unlessMissing(readFile(path.join(directory, markerName), 'utf8'))) !== dataDir) continue
    const release = await tryLockDataDir(directory)
    if (!release) continue
    try {
      // Checked after the marker, which is written after the link, because another process may just have created both.
      if (await unlessMissing(lstat(dataDir))) return
      log(`removing ${directory}, whose link ${dataDir} was deleted`)
      await stopLeftServer(path.join(directory, 'data'))
      await rm(directory, { recursive: true, force: true, maxRetries: 3 })
    } finally {
      await release()
    }
  }
}

const createElsewhere = async (options: Options): Promise<void> => {
  const { dataDir, log } = options
  const prefix = `data-${createHash('sha256').update(dataDir).digest('hex').slice(0, 12)}-`
  await createSystemDirectory()
  await removeAbandoned(prefix, options)
  const directory = await mkdtemp(path.join(systemDirectory, prefix))
  try {
    await symlink(directory, dataDir)
  } catch (error) {
    await rm(directory, { recursive: true })
    // Another process may have finished first.
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return
    throw error
  }
  await writeFile(path.join(directory, markerName), dataDir)
  log(
    `keeping the data in ${directory}, because an unprivileged user does not get into ${path.dirname(dataDir)}`,
  )
}

// A project that was moved with its link keeps its data. Otherwise a new project in the old place would delete the
// data.
const followMove = async (directory: string, dataDir: string): Promise<void> => {
  const marker = path.join(directory, markerName)
  const named = await unlessMissing(readFile(marker, 'utf8'))
  if (named === undefined || named === dataDir) return
  const stillThere = await realpath(named).catch(() => undefined)
  if (stillThere !== directory) await writeFile(marker, dataDir)
}

const chownAll = async (directory: string, { uid, gid }: OsUser): Promise<void> => {
  for (const name of await readdir(directory, { recursive: true })) {
    await unlessMissing(lchown(path.join(directory, name), uid, gid))
  }
  // Last, so that an interrupted run is detected as unfinished.
  await chown(directory, uid, gid)
}

// Data that an ordinary user created stays owned by that user, so that both can start it.
const userAsRoot = async (directory: string, log: Log): Promise<OsUser> => {
  const outer = await stat(directory)
  const inner = (await unlessMissing(stat(path.join(directory, 'data')))) ?? outer
  const user = (inner.uid !== 0 && (await userOf(inner.uid, inner.gid))) || (await systemUser(log))
  if (outer.uid !== user.uid || inner.uid !== user.uid) await chownAll(directory, user)
  if (await canEnter(user, directory)) return user
  throw new Error(
    `PostgreSQL refuses to run as root, and user ${user.name} does not get into ${directory}: ` +
      'let others pass the directories above it (chmod o+x), or use another data directory',
  )
}

const refuseForeign = async (directory: string): Promise<void> => {
  const me = process.getuid?.()
  const accessible = await succeeds(access(directory, constants.R_OK | constants.W_OK | constants.X_OK))
  const data = accessible ? await unlessMissing(stat(path.join(directory, 'data'))) : undefined
  if (accessible && (me === undefined || data === undefined || data.uid === me)) return
  const { uid } = data ?? (await stat(directory))
  throw new Error(
    `The data directory ${directory} belongs to the user with id ${uid}, perhaps from a run as root: ` +
      `start as that user, or hand it over with: sudo chown -R ${me} '${directory}'`,
  )
}

/**
 * Finds or creates the place of the data and locks it for this process. As root, below a directory that the user who
 * runs PostgreSQL cannot enter, `dataDir` becomes a link to a directory in `systemDirectory`.
 * @throws DataDirInUseError when another process uses the data
 * @throws Error with the owner of the directory when it belongs to another user
 */
export const openDataDir = async (options: Options): Promise<DataDir> => {
  const { waitMs, log } = options
  await mkdir(path.dirname(options.dataDir), { recursive: true })
  const parent = await realpath(path.dirname(options.dataDir))
  const dataDir = path.join(parent, path.basename(options.dataDir))

  const isLink = (await unlessMissing(lstat(dataDir)))?.isSymbolicLink()
  const content = await unlessMissing(readdir(dataDir))
  if (isLink && !content) {
    throw new Error(
      `The data directory ${dataDir} links to a directory that is gone: remove the link to start with an empty database`,
    )
  }
  const mayGoElsewhere = isRoot() && !isLink && !content?.length
  if (mayGoElsewhere && !(await canEnter(await systemUser(log), parent))) {
    // An empty directory that cannot be removed (a volume) stays; whether it is usable is checked below.
    if (!content || (await succeeds(rmdir(dataDir)))) await createElsewhere({ ...options, dataDir })
  } else {
    await mkdir(dataDir, { recursive: true })
  }

  const directory = await realpath(dataDir)
  if (!isRoot()) await refuseForeign(directory)
  const release = await lockDataDir(directory, { dataDir, waitMs })
  try {
    await followMove(directory, dataDir)
    return { directory, user: isRoot() ? await userAsRoot(directory, log) : undefined, release }
  } catch (error) {
    await release()
    throw error
  }
}
