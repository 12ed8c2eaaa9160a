import { chmod, mkdir } from 'node:fs/promises'
import path from 'node:path'

/** For this user only: files may hold personal data, secrets and the demo password. */
const PRIVATE_UMASK = 0o077
/** Others may pass a directory and not list it. */
const PASSABLE = 0o711

/**
 * Creates the data directory for this user only, and everything that the process creates later. As root others may pass
 * the directories that were created, because PostgreSQL runs as another user in one of its own below. A directory that
 * exists keeps its mode.
 */
export const createDataDir = async (
  dataDir: string,
  isRoot: boolean = process.getuid?.() === 0,
): Promise<void> => {
  process.umask(PRIVATE_UMASK)
  const first = await mkdir(dataDir, { recursive: true })
  if (first === undefined || !isRoot) return
  for (let directory = dataDir; directory.length >= first.length; directory = path.dirname(directory))
    await chmod(directory, PASSABLE)
}
