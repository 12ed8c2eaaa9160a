import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { previousVersion } from './previous-version.ts'

describe('the version to upgrade from', () => {
  let root: string
  const git = (...args: string[]): string => {
    const author = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com', '-c', 'commit.gpgsign=false']
    return execFileSync('git', [...author, ...args], { cwd: root, encoding: 'utf8' }).trim()
  }
  /** Commits a file, and returns the commit. */
  const commit = async (file: string): Promise<string> => {
    await mkdir(path.dirname(path.join(root, file)), { recursive: true })
    await writeFile(path.join(root, file), file)
    git('add', '.')
    git('commit', '--quiet', '--message', file)
    return git('rev-parse', 'HEAD')
  }
  const migration = (name: string) => `libs/database/prisma/migrations/${name}/migration.sql`

  beforeEach(async () => {
    root = await mkdtemp(path.join(tmpdir(), 'previous-version-'))
    onTestFinished(() => rm(root, { recursive: true }))
    git('init', '--quiet')
  })

  it('is the last tag before the current commit', async () => {
    await commit('a')
    git('tag', 'v0.1.0')
    const second = await commit('b')
    git('tag', 'v0.2.0')
    git('tag', 'another')
    expect(previousVersion(undefined, root).name).toBe('v0.1.0')
    await commit(migration('1_first'))
    expect(previousVersion(undefined, root)).toEqual({ name: 'v0.2.0', commit: second })
  })

  it('is not a tag of another branch', async () => {
    const first = await commit('a')
    git('checkout', '--quiet', '-b', 'other')
    await commit('b')
    git('tag', 'v0.1.0')
    git('checkout', '--quiet', '--detach', first)
    await commit(migration('1_first'))
    expect(previousVersion(undefined, root).commit).toBe(first)
  })

  it('without a tag is the commit before the newest migration', async () => {
    await commit(migration('1_first'))
    const before = await commit('a')
    await commit(migration('2_second'))
    await commit('b')
    const { name, commit: found } = previousVersion(undefined, root)
    expect(found).toBe(before)
    expect(before.startsWith(name)).toBe(true)
  })

  it('is a chosen tag or commit', async () => {
    const first = await commit('a')
    await commit('b')
    git('tag', '--annotate', '--message', 'Version', 'v0.1.0')
    const tagged = git('rev-parse', 'HEAD')
    await commit('c')
    expect(previousVersion('v0.1.0', root)).toEqual({ name: 'v0.1.0', commit: tagged })
    expect(previousVersion(first.slice(0, 10), root)).toEqual({ name: first.slice(0, 10), commit: first })
  })

  it('must be in the clone', async () => {
    await commit(migration('1_first'))
    expect(() => previousVersion(undefined, root)).toThrow(/lacks a tag v\* and a commit before.*--unshallow/)
    expect(() => previousVersion('v9.0.0', root)).toThrow(/lacks the tag or commit v9\.0\.0/)
    expect(() => previousVersion('--all', root)).toThrow(/lacks the tag or commit --all/)
  })
})
