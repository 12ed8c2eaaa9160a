import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

/** What a process says that fills its heap, and lets go of what it is full of. */
const outputOf = (body: string) => {
  const script = `
    import { setTimeout as sleep } from 'node:timers/promises'
    import { returnMemoryWhenQuiet, tuneHeap } from '${import.meta.dirname}/heap.ts'
    const isLarge = () => process.memoryUsage().heapTotal > 40_000_000
    const work = () => { globalThis.made = Array.from({ length: 1_000_000 }, (_, n) => ({ n })) }
    const rest = async (ms) => {
      globalThis.made = undefined
      const until = performance.now() + ms
      while (isLarge() && performance.now() < until) await sleep(20)
    }
    // What is done before the event loop begins does not count as work.
    await sleep(1)
    ${body}`
  return promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], { env: {} })
}

describe('the heap of a service', () => {
  it('is tuned by what this engine knows: of anything else it complains', async () => {
    expect(await outputOf('tuneHeap()')).toEqual({ stdout: '', stderr: '' })
  })

  it('shrinks when there was nothing to do for a while, each time after there was', async () => {
    const { stdout } = await outputOf(`
      tuneHeap()
      returnMemoryWhenQuiet(200)
      for (let time = 0; time < 2; time++) {
        work()
        console.log(isLarge())
        await rest(20_000)
        console.log(isLarge())
      }`)
    expect(stdout.trim().split('\n')).toEqual(['true', 'false', 'true', 'false'])
  })
})
