import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createDataDir } from './data-dir.ts'

describe.skipIf(process.platform === 'win32')('the data directory', () => {
  let parent: string
  const umask = process.umask()
  beforeEach(async () => {
    parent = await mkdtemp(path.join(tmpdir(), 'waymark-data-'))
  })
  afterEach(async () => {
    process.umask(umask)
    await rm(parent, { recursive: true })
  })
  const modeOf = async (name: string) => ((await stat(path.join(parent, name))).mode & 0o777).toString(8)

  it('is for its user only, with the files in it', async () => {
    await createDataDir(path.join(parent, 'a/b'), false)
    await writeFile(path.join(parent, 'a/b/events'), '')
    expect([await modeOf('a'), await modeOf('a/b'), await modeOf('a/b/events')]).toEqual([
      '700',
      '700',
      '600',
    ])
  })

  it('can be passed by the user of PostgreSQL when it is created by root, and not be listed', async () => {
    await createDataDir(path.join(parent, 'a/b'), true)
    await writeFile(path.join(parent, 'a/b/events'), '')
    expect([await modeOf('a'), await modeOf('a/b'), await modeOf('a/b/events')]).toEqual([
      '711',
      '711',
      '600',
    ])
  })

  it('keeps its mode when it exists', async () => {
    await mkdir(path.join(parent, 'a'), { mode: 0o750 })
    await createDataDir(path.join(parent, 'a'), true)
    expect(await modeOf('a')).toBe('750')
  })
})
