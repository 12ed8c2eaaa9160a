import { type AppName, type Constellation, eventually, extent } from '@waymark/testing'
import { expect, it } from 'vitest'
import { readEventIds } from './stored.ts'

const BATCHES = extent(20, 60)
const BATCH = 50

/** Acknowledged events are stored once, whichever app is killed. */
export const describePowerCut = (start: () => Promise<Constellation>, apps: readonly AppName[]): void => {
  it.each(apps)('stores acknowledged events once when %s is killed under load', async (app) => {
    const waymark = await start()
    try {
      const acknowledged = new Set<string>()
      const send = async (batch: number): Promise<void> => {
        const events = Array.from({ length: BATCH }, (_, n) => ({
          eventName: 'page_view',
          visitorId: `visitor-${n}`,
          eventId: `batch-${batch}-event-${n}`,
        }))
        await eventually(`batch ${batch} is acknowledged`, async () => {
          const body = JSON.stringify({ events })
          const headers = { 'Content-Type': 'application/json' }
          const response = await waymark.request('/api/v1/t', { method: 'POST', headers, body })
          return response.status === 202
        })
        for (const { eventId } of events) acknowledged.add(eventId)
      }

      for (let batch = 0; batch < BATCHES; batch++) {
        if (batch === BATCHES / 2) {
          await waymark.kill(app)
          await waymark.restart(app)
        }
        await send(batch)
      }
      // The whole load again: repeats must have no effect.
      for (let batch = 0; batch < 10; batch++) await send(batch)

      const stored = await eventually('everything acknowledged is stored', async () => {
        const found = await readEventIds(waymark)
        return found.length >= acknowledged.size && found
      })
      expect(stored).toHaveLength(BATCHES * BATCH)
      expect(new Set(stored)).toEqual(acknowledged)
    } finally {
      await waymark.stop()
    }
  })
}
