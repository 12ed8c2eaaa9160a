import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { eventually } from '@waymark/testing/unit'
import { beforeEach, expect, it, onTestFinished } from 'vitest'
import { ROOT } from './root.ts'

let folder: string
const startUpgrade = (command: string, args: readonly string[]): ChildProcess => {
  const env = { ...process.env, TMPDIR: folder, UPGRADE_DIR: '', NODE_DISABLE_COMPILE_CACHE: '1' }
  return spawn(command, [...args, 'HEAD'], { cwd: ROOT, env, stdio: 'ignore' })
}

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'stopped-upgrade-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
})

it('removes the version that it was installing when it is stopped', async () => {
  const child = startUpgrade(process.execPath, [path.join(import.meta.dirname, 'upgrade.ts')])
  const ended = once(child, 'exit')
  await eventually('it has begun', async () => (await readdir(folder)).length > 0)
  child.kill('SIGTERM')
  expect(await ended).toEqual([1, null])
  expect(await readdir(folder)).toEqual([])
})

it.each(['SIGINT', 'SIGTERM'] as const)('is stopped by %s to npm', async (signal) => {
  const npm = startUpgrade('npm', ['run', 'test:upgrade', '--'])
  await eventually('it has begun', async () => (await readdir(folder)).length > 0)
  npm.kill(signal)
  await eventually('it is removed', async () => (await readdir(folder)).length === 0)
})

it('removes what a killed process has left, and nothing of a running one', async () => {
  const { pid } = spawnSync('true')
  const running = `waymark-upgrade-${process.pid}-running`
  for (const name of [`waymark-upgrade-${pid}-killed`, running])
    await mkdir(path.join(folder, name, 'commit'), { recursive: true })
  const child = startUpgrade(process.execPath, [path.join(import.meta.dirname, 'upgrade.ts')])
  const ended = once(child, 'exit')
  await eventually('it has begun', async () =>
    (await readdir(folder)).some((name) => name.startsWith(`waymark-upgrade-${child.pid}-`)),
  )
  child.kill('SIGTERM')
  await ended
  expect(await readdir(folder)).toEqual([running])
})
