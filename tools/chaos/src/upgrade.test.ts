import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { eventually } from '@waymark/testing'
import { expect, it, onTestFinished } from 'vitest'

it('removes the version that it was installing when it is stopped', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'stopped-upgrade-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const child = spawn(process.execPath, [path.join(import.meta.dirname, 'upgrade.ts'), 'HEAD'], {
    env: { ...process.env, TMPDIR: folder, UPGRADE_DIR: '' },
    stdio: 'ignore',
  })
  const ended = once(child, 'exit')
  await eventually('it has begun', async () => (await readdir(folder)).length > 0)
  child.kill('SIGTERM')
  expect(await ended).toEqual([1, null])
  expect(await readdir(folder)).toEqual([])
})
