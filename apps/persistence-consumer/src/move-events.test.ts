import { createMemoryLog } from '@waymark/testing/unit'
import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { moveEventsLoop } from './move-events.ts'

it('looks for events of the previous version until an hour after the start', async () => {
  let now = 0
  let looked = 0
  const pool = {
    query: async () => {
      looked++
      return { rows: [] }
    },
  }
  const { run } = moveEventsLoop({
    db: { pool } as never,
    eventStore: {} as never,
    projectConfigs: {} as never,
    metrics: new Registry(),
    log: createMemoryLog(),
    steadyClock: () => now,
  })
  const { signal } = new AbortController()
  for (const minutes of [0, 59, 60, 61, 120]) {
    now = minutes * 60_000
    expect(await run(signal)).toBe('pause')
  }
  expect(looked).toBe(3)
})
