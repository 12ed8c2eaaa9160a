import { createMemoryLog } from '@waymark/testing'
import { describe, expect, it } from 'vitest'
import { startLoop } from './loop.ts'

const AN_HOUR_MS = 60 * 60 * 1000

/** Starts a loop and waits until its run has been called `times` times; `run` is told which time it is. */
const runTimes = async (
  times: number,
  everyMs: number,
  run: (time: number, signal: AbortSignal) => Promise<boolean>,
) => {
  const log = createMemoryLog()
  const reached = Promise.withResolvers<void>()
  let time = 0
  const loop = startLoop(
    {
      name: 'work',
      everyMs,
      run: (signal) => {
        time++
        if (time === times) reached.resolve()
        return run(time, signal)
      },
    },
    log,
  )
  await reached.promise
  return { loop, log, timesRun: () => time }
}

describe('a loop', () => {
  it('runs at once and again after the pause', async () => {
    const { loop } = await runTimes(3, 1, async () => false)
    await loop.stop()
  })

  it('makes no pause while there is more to do', async () => {
    const { loop, timesRun } = await runTimes(3, AN_HOUR_MS, async (time) => time < 3)
    await loop.stop()
    expect(timesRun()).toBe(3)
  })

  it('goes on after a run that failed, and says so', async () => {
    const { loop, log } = await runTimes(2, 1, async (time) => {
      if (time === 1) throw new Error('no database')
      return false
    })
    await loop.stop()
    expect(log.lines).toMatchObject([
      { level: 'warn', details: { loop: 'work', err: { message: 'no database' } } },
    ])
  })

  it('stops within its pause', async () => {
    const { loop, timesRun } = await runTimes(1, AN_HOUR_MS, async () => false)
    await loop.stop()
    expect(timesRun()).toBe(1)
  })

  it('tells a run under way to stop, and waits for it', async () => {
    let finished = false
    const { loop, log, timesRun } = await runTimes(1, 1, async (_time, signal) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      finished = true
      throw new Error('interrupted')
    })
    await loop.stop()
    expect(finished).toBe(true)
    expect(timesRun()).toBe(1)
    expect(log.lines).toEqual([])
  })
})
