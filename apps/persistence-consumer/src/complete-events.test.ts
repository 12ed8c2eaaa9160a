import type { EventKey } from '@waymark/analytics'
import type { Platform } from '@waymark/service-kit'
import { createMemoryLog } from '@waymark/testing/unit'
import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { completeEventsLoop } from './complete-events.ts'

it('looks for events of the previous version until an hour after the start', async () => {
  let now = 0
  let looked = 0
  const analytics = {
    listIncompleteEvents: async function* (): AsyncGenerator<EventKey[], void, undefined> {
      looked++
      yield* []
    },
  }
  const { run } = completeEventsLoop({
    db: {} as Platform['db'],
    analytics: analytics as unknown as Platform['analytics'],
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
