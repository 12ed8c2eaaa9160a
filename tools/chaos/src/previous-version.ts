import { execFileSync } from 'node:child_process'
import { ROOT } from './root.ts'

const MIGRATIONS = 'libs/database/prisma/migrations'

/** A version by its tag or the beginning of its commit, and its whole commit. */
export type Version = { name: string; commit: string }

/**
 * The version to upgrade from: a chosen tag or commit; by default the last tag `v*` before the current commit, and
 * before the first tag the commit before the newest migration, so that the upgrade changes the database.
 * @throws Error when the clone in `root` lacks it
 */
export const previousVersion = (chosen?: string, root = ROOT): Version => {
  const git = (...args: string[]): string | undefined => {
    try {
      return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: 'pipe' }).trim()
    } catch {
      return undefined
    }
  }
  const tag = () => git('describe', '--tags', '--abbrev=0', '--match', 'v*', 'HEAD^')
  const beforeMigration = () => {
    const added = git('log', '-1', '--diff-filter=A', '--format=%H', 'HEAD', '--', MIGRATIONS)
    return added && git('rev-parse', '--verify', '--short', `${added}^`)
  }
  const name = chosen ?? tag() ?? beforeMigration()
  const commit = name && git('rev-parse', '--verify', '--end-of-options', `${name}^{commit}`)
  if (!name || !commit) {
    const missing = name ? `the tag or commit ${name}` : 'a tag v* and a commit before the newest migration'
    throw new Error(`This clone lacks ${missing}. Fetch its history: git fetch --unshallow --tags`)
  }
  return { name, commit }
}
