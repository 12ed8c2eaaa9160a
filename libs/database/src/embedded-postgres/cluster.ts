import { randomBytes, randomUUID } from 'node:crypto'
import { access, chown, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import type { Binaries } from './binaries.ts'
import { type OsUser, run } from './processes.ts'

export const superuser = 'waymark'

const unfinishedPrefix = 'data.new-'

const syncDirectory = async (directory: string): Promise<void> => {
  if (process.platform === 'win32') return
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

const writePassword = async (file: string, user: OsUser | undefined): Promise<void> => {
  // A file from an unfinished start may have another mode or owner.
  await rm(file, { force: true })
  const handle = await open(file, 'wx', 0o600)
  try {
    await handle.writeFile(randomBytes(24).toString('base64url'))
    await handle.sync()
  } finally {
    await handle.close()
  }
  if (user) await chown(file, user.uid, user.gid)
}

const createCluster = async (
  directory: string,
  passwordFile: string,
  { initdb }: Binaries,
  user: OsUser | undefined,
): Promise<void> => {
  for (const name of await readdir(directory)) {
    if (!name.startsWith(unfinishedPrefix)) continue
    // May fail while an initdb of a killed process is still writing. The next start removes it.
    await rm(path.join(directory, name), { recursive: true, force: true, maxRetries: 3 }).catch(() => {})
  }
  await writePassword(passwordFile, user)
  const unfinished = path.join(directory, `${unfinishedPrefix}${randomUUID()}`)
  const args = [
    `--pgdata=${unfinished}`,
    `--username=${superuser}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    // The built-in locale does not depend on the C library and its version.
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--locale=C',
    '--no-instructions',
  ]
  const { ok, stdout, stderr } = await run(initdb, args, user)
  if (!ok) throw new Error(`initdb failed in ${directory}: ${stderr}\n${stdout}`)
  await rename(unfinished, path.join(directory, 'data'))
  await syncDirectory(directory)
}

/**
 * Creates the database cluster in `directory`/data if it does not exist, atomically.
 * @returns the password of the superuser
 */
export const ensureCluster = async (
  directory: string,
  binaries: Binaries,
  user: OsUser | undefined,
): Promise<string> => {
  const passwordFile = path.join(directory, 'password')
  const exists = await access(path.join(directory, 'data')).then(
    () => true,
    () => false,
  )
  if (!exists) await createCluster(directory, passwordFile, binaries, user)
  try {
    return await readFile(passwordFile, 'utf8')
  } catch (cause) {
    throw new Error(
      `The password of the database in ${directory} is lost: restore the file ${passwordFile}`,
      { cause },
    )
  }
}
