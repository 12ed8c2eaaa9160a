import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkTestTime } from './check-test-time.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'time-'))
})
afterAll(() => rm(folder, { recursive: true }))

/** The violations of a workspace that holds one file. */
const violationsOf = async (file: string, source: string) => {
  const root = await mkdtemp(path.join(folder, 'tree-'))
  await mkdir(path.dirname(path.join(root, file)), { recursive: true })
  await writeFile(path.join(root, file), source)
  return checkTestTime(root)
}

const MEASURE = 'const startedAt = performance.now()\n'

describe('time in tests', () => {
  it.each([
    ['as a duration', MEASURE],
    ['as an age', 'expect(Date.now() - startedAt).toBeLessThan(5_000)\n'],
    ['as CPU time', 'const { user } = process.cpuUsage()\n'],
    ['as high-resolution time', 'const at = process.hrtime.bigint()\n'],
    ['as memory', 'expect(process.memoryUsage().heapUsed).toBeLessThan(MAX)\n'],
    ['as the memory of a helper', "import { usedMemory } from '@waymark/testing'\n"],
    ['as a wait', 'await new Promise((resolve) => setTimeout(resolve, 500))\n'],
    ['as an imported wait', "import { setTimeout as sleep } from 'node:timers/promises'\n"],
  ])('is refused %s', async (_, source) => {
    expect(await violationsOf('apps/gateway/tests/users.test.ts', source)).toMatchObject([
      { rule: 'tests-do-not-depend-on-time', from: 'apps/gateway/tests/users.test.ts:1' },
    ])
  })

  it.each([
    'apps/gateway/src/accounts/users.test.ts',
    'apps/gateway/tests/harness.ts',
    'libs/testing/src/test-database.ts',
    'tools/end-to-end/tests/users.suite.ts',
  ])('is refused in %s', async (file) => {
    expect(await violationsOf(file, MEASURE)).toHaveLength(1)
  })

  it.each([
    'apps/gateway/src/accounts/users.ts',
    'apps/gateway/tests/export.chaos.test.ts',
    'libs/testing/src/eventually.ts',
    'tools/bench/src/users.test.ts',
    'tools/chaos/tests/kill.test.ts',
  ])('is allowed in %s', async (file) => {
    expect(await violationsOf(file, MEASURE)).toEqual([])
  })

  it.each([
    ['times in the past', 'const at = new Date(Date.now() - age)\nconst start = Date.now() - 10 * DAY_MS\n'],
    ['turns of the event loop', "import { setImmediate } from 'node:timers/promises'\n"],
    ['a fake clock', 'vi.useFakeTimers()\nsetTimeout(later, 500)\n'],
    ['comments', '// performance.now() and setTimeout(f, 5)\n'],
  ])('is not found in %s', async (_, source) => {
    expect(await violationsOf('apps/gateway/src/users.test.ts', source)).toEqual([])
  })

  it('is reported with its line and its text', async () => {
    expect(await violationsOf('libs/cache/tests/cache.test.ts', `\n\n${MEASURE}`)).toEqual([
      {
        rule: 'tests-do-not-depend-on-time',
        from: 'libs/cache/tests/cache.test.ts:3',
        to: 'performance.now',
      },
    ])
  })
})
