import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'

/** Counts the threads of the pool of a process that has given it work. */
const CODE = `
  import '${import.meta.dirname}/thread-pool.ts'
  import { readdirSync, readFileSync } from 'node:fs'
  import { stat } from 'node:fs/promises'
  await stat('/')
  const names = readdirSync('/proc/self/task').map((task) => readFileSync('/proc/self/task/' + task + '/comm', 'utf8'))
  console.log(names.filter((name) => name.startsWith('libuv-worker')).length)`

const threads = (env: Record<string, string> = {}): number =>
  Number(execFileSync(process.execPath, ['--input-type=module', '--eval', CODE], { env, encoding: 'utf8' }))

describe.runIf(process.platform === 'linux')('the thread pool of the process', () => {
  it('has more threads than the event store may occupy', () => {
    expect(threads()).toBe(9)
  })

  it('has as many as the environment says', () => {
    expect(threads({ UV_THREADPOOL_SIZE: '3' })).toBe(3)
  })
})
