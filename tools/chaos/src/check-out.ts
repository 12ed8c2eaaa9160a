import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { ROOT } from './root.ts'
import { run } from './run.ts'

/** A folder with the source and the packages of another version. `remove` deletes it unless it is kept. */
export type CheckedOut = { root: string; remove(): Promise<void> }

type Options = {
  /** A folder that keeps it for the next call; by default it is in a temporary folder. */
  keptIn?: string | undefined
  /** Ends the installation, and removes it. */
  signal: AbortSignal
}

const PREFIX = 'waymark-upgrade-'

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Removes the temporary folders of processes that were killed, which could not remove them. */
const removeLeftovers = async (): Promise<void> => {
  for (const name of await readdir(tmpdir())) {
    const [, pid] = new RegExp(`^${PREFIX}(\\d+)-`).exec(name) ?? []
    if (pid && !isRunning(Number(pid))) await rm(path.join(tmpdir(), name), { recursive: true, force: true })
  }
}

/** A new temporary folder, named by this process. */
const temporaryFolder = async (): Promise<string> => {
  await removeLeftovers()
  return mkdtemp(path.join(tmpdir(), `${PREFIX}${process.pid}-`))
}

/**
 * Checks a commit out and installs its packages.
 * @throws Error when it cannot be installed
 */
export const checkOut = async (commit: string, { keptIn, signal }: Options): Promise<CheckedOut> => {
  const folder = keptIn ? path.resolve(keptIn) : await temporaryFolder()
  const root = path.join(folder, commit)
  const installed = path.join(root, 'node_modules/.installed')
  const remove = async (): Promise<void> => {
    if (!keptIn) await rm(folder, { recursive: true, force: true })
  }
  if (existsSync(installed)) return { root, remove }
  // Killed, because npm finishes the step of an installation before it heeds SIGTERM, which can take minutes.
  const inRoot = (command: string, ...args: string[]): Promise<void> =>
    run(command, args, { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'], signal, killSignal: 'SIGKILL' })
  try {
    await rm(root, { recursive: true, force: true })
    await inRoot('git', 'clone', '--quiet', '--shared', '--no-checkout', ROOT, root)
    await inRoot('git', '-C', root, 'checkout', '--quiet', '--detach', commit)
    // Without `--prefix`, npm installs into this checkout, whose folder `npm run` has put into the environment.
    await inRoot('npm', 'ci', '--no-audit', '--no-fund', '--prefix', root)
    await writeFile(installed, '')
  } catch (error) {
    await rm(root, { recursive: true, force: true })
    await remove()
    throw error
  }
  return { root, remove }
}
