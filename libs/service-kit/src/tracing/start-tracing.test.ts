import { createMemoryLog } from '@waymark/testing/unit'
import { expect, it, onTestFinished, vi } from 'vitest'
import { logFailuresTo } from './start-tracing.ts'

it('logs failed exports once a minute', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const log = createMemoryLog()
  const fail = logFailuresTo(log)
  for (const [passedMs, logged] of [
    [0, 1],
    [59_999, 1],
    [1, 2],
    [0, 2],
  ] as const) {
    vi.advanceTimersByTime(passedMs)
    fail(new Error('The collector is away'))
    expect(log.lines).toHaveLength(logged)
  }
})
