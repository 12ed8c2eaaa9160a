import path from 'node:path'
import { startProcess } from '@waymark/testing/child-process'
import { expect, it } from 'vitest'

const ROOT = path.resolve(import.meta.dirname, '../../..')

/** Runs a script with the functions of `.ci/parts.sh`. */
const runScript = async (script: string, limitSeconds = 60) => {
  const { ended, output } = startProcess(
    'bash',
    ['--norc', '-c', `set -euo pipefail\nsource .ci/parts.sh\n${script}`],
    {
      cwd: ROOT,
      env: { PATH: process.env.PATH, CI_LIMIT_SECONDS: `${limitSeconds}` },
    },
  )
  const code = await ended
  // Durations vary.
  return {
    code,
    lines: output()
      .trimEnd()
      .replaceAll(/^ +\d+ s /gm, 'n s ')
      .split('\n'),
  }
}

it('ends a run at its limit, and lists what had not finished', async () => {
  const { code, lines } = await runScript(
    `plan one two three four
    start_limit
    slow() { part two sleep 600; }
    fast() { part three true; }
    run part one true
    run side_by_side slow fast
    run part four true`,
    1,
  )
  expect(code).toBe(1)
  expect(lines).toEqual([
    'n s  one',
    'n s  three',
    'The run has taken 1 s, and is ended. Not finished:',
    '         two',
    '         four',
    '0 passed, 1 failed',
  ])
})

it('counts the tests that had ended, and lets them say what was at work', async () => {
  const { code, lines } = await runScript(
    `plan tests
    start_limit
    tests() {
      bash -c 'trap "echo at work: a.test.ts; echo 7 passed, 2 failed, 0 skipped; exit 1" TERM; sleep 600 & wait' | keep_output
    }
    run part tests tests`,
    1,
  )
  expect(code).toBe(1)
  expect(lines).toEqual([
    'at work: a.test.ts',
    '7 passed, 2 failed, 0 skipped',
    'The run has taken 1 s, and is ended. Not finished:',
    '         tests',
    '7 passed, 3 failed',
  ])
})

it('fails when one of several parts that run at the same time fails, after the others have ended', async () => {
  const { code, lines } = await runScript(
    `plan one two
    start_limit
    one() { part one false; }
    two() { part two sleep 0.5; }
    run side_by_side one two
    echo not reached`,
  )
  expect(code).toBe(1)
  expect(lines).toEqual(['n s  one', 'n s  two'])
})

it('prints the parts of a run that ends in time', async () => {
  const { code, lines } = await runScript(`plan one
    start_limit
    run part one true
    trap - EXIT
    stop_limit
    print_parts
    last_count || echo '0 passed, 1 failed'`)
  expect(code).toBe(0)
  expect(lines).toEqual(['n s  one', '0 passed, 1 failed'])
})
