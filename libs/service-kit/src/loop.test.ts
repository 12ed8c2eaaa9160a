import { createMemoryLog } from '@waymark/testing/unit'
import { describe, expect, it } from 'vitest'
import { drain, everyMs, type Loop, startLoop, untilStopped } from './loop.ts'

const AN_HOUR_MS = 60 * 60 * 1000

/** Starts the loop from `make` and waits until `run` was called `times` times; `run` gets the count. */
const runTimes = async <T>(
  times: number,
  make: (run: (signal: AbortSignal) => Promise<T>) => Loop,
  run: (time: number, signal: AbortSignal) => Promise<T>,
) => {
  const log = createMemoryLog()
  const reached = Promise.withResolvers<void>()
  let time = 0
  const loop = startLoop(
    make((signal) => {
      time++
      if (time === times) reached.resolve()
      return run(time, signal)
    }),
    log,
  )
  await reached.promise
  return { loop, log, timesRun: () => time }
}
const everyMillisecond = (run: (signal: AbortSignal) => Promise<void>) => everyMs('work', 1, run)
const everyHour = (run: (signal: AbortSignal) => Promise<void>) => everyMs('work', AN_HOUR_MS, run)

describe('everyMs', () => {
  it('runs at once and again after the pause', async () => {
    const { loop } = await runTimes(3, everyMillisecond, async () => {})
    await loop.stop()
  })

  it('continues after a failed run, and logs it', async () => {
    const { loop, log } = await runTimes(2, everyMillisecond, async (time) => {
      if (time === 1) throw new Error('no database')
    })
    await loop.stop()
    expect(log.lines).toMatchObject([
      { level: 'warn', details: { loop: 'work', err: { message: 'no database' } } },
    ])
  })

  it('stops during its pause', async () => {
    const { loop, timesRun } = await runTimes(1, everyHour, async () => {})
    await loop.stop()
    expect(timesRun()).toBe(1)
  })

  it('aborts a run that is in progress, and waits for it', async () => {
    let finished = false
    const { loop, log, timesRun } = await runTimes(1, everyMillisecond, async (_time, signal) => {
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

describe('drain', () => {
  it('does not pause until a batch is empty', async () => {
    const { loop, timesRun } = await runTimes(
      3,
      (takeBatch: (signal: AbortSignal) => Promise<number>) => drain('work', AN_HOUR_MS, takeBatch),
      async (time) => 3 - time,
    )
    await loop.stop()
    expect(timesRun()).toBe(3)
  })
})

describe('untilStopped', () => {
  it('restarts a failed run, and ends when the signal aborts', async () => {
    const { loop, timesRun } = await runTimes(
      2,
      (run: (signal: AbortSignal) => Promise<void>) => untilStopped('work', run),
      async (time, signal) => {
        if (time === 1) throw new Error('no database')
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
      },
    )
    await loop.stop()
    expect(timesRun()).toBe(2)
  })
})
