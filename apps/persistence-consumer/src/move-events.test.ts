import { createMemoryLog } from '@waymark/testing/unit'
import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { moveEventsLoop } from './move-events.ts'

it('looks for events of the previous version until an hour after the start', async () => {
  let now = 0
  let looked = 0
  let isTaken = false
  const pool = {
    query: async () => {
      looked++
      return { rows: [] }
    },
  }
  const transaction = async (run: (client: object) => Promise<unknown>) =>
    run({ query: async () => ({ rows: [{ locked: !isTaken }] }) })
  const { run } = moveEventsLoop({
    db: { pool, transaction } as never,
    eventStore: {} as never,
    projectConfigs: {} as never,
    metrics: new Registry(),
    log: createMemoryLog(),
    steadyClock: () => now,
  })
  const { signal } = new AbortController()
  const runAt = async (minutes: number): Promise<number> => {
    now = minutes * 60_000
    expect(await run(signal)).toBe('pause')
    return looked
  }
  expect(await runAt(59)).toBe(1)
  // Another process moves events, which may not be done.
  isTaken = true
  expect(await runAt(60)).toBe(1)
  isTaken = false
  expect(await runAt(61)).toBe(2)
  expect(await runAt(62)).toBe(2)
})
