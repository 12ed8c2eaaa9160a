import { spawnSync } from 'node:child_process'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { runCommand } from '@waymark/testing'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { type FlakyPlatform, startFlakyPlatform } from './sdks/flaky-platform.ts'
import { CALLS } from './sdks/stored-calls.ts'

// The SDKs that are downloaded and built by the test. `sdks.test.ts` has those of Node.

const PROGRAMS = path.join(import.meta.dirname, 'sdks')

/** Whether a tool is there. In CI it must be, because no test may be left out there. */
const requireTool = (name: string, args: string[]): boolean => {
  const found = spawnSync(name, args).status === 0
  if (!found && process.env.CI) throw new Error(`${name} is missing, and in CI no test may be left out`)
  if (!found) process.stdout.write(`${name} is missing: the test of its SDK is left out.\n`)
  return found
}
const hasPython = requireTool('python3', ['-c', 'import ensurepip, venv'])
const hasGo = requireTool('go', ['version'])

// Each SDK is as its maker published it: only its host and key are changed, and sizes of batches.
describe('an SDK of Segment’s protocol stores each call once, though an answer is lost and a request refused', () => {
  let platform: FlakyPlatform
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'waymark-sdks-'))
    platform = await startFlakyPlatform()
  })
  afterAll(async () => {
    await platform?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  it.skipIf(!hasPython)('segment-analytics-python', async () => {
    const proxy = await platform.startProxy()
    await runCommand('python3', ['-m', 'venv', 'venv'], { cwd: folder })
    const python = path.join(folder, 'venv/bin/python')
    const requirements = path.join(PROGRAMS, 'requirements.txt')
    await runCommand(python, ['-m', 'pip', 'install', '--quiet', '--requirement', requirements], {
      cwd: folder,
    })
    const args = [proxy.url, platform.waymark.apiKey, 'segment-python', `${CALLS}`]
    await runCommand(python, [path.join(PROGRAMS, 'program.py'), ...args], { cwd: folder })
    await platform.expectAll(proxy, 'segment-python')
  })

  it.skipIf(!hasGo)('github.com/segmentio/analytics-go', async () => {
    const proxy = await platform.startProxy()
    const cwd = path.join(folder, 'go')
    await cp(path.join(PROGRAMS, 'go'), cwd, { recursive: true })
    await runCommand('go', ['build', '-o', 'program', '.'], { cwd, env: { CGO_ENABLED: '0' } })
    const args = [proxy.url, platform.waymark.apiKey, 'segment-go', `${CALLS}`]
    await runCommand(path.join(cwd, 'program'), args, { cwd })
    await platform.expectAll(proxy, 'segment-go')
  })
})
