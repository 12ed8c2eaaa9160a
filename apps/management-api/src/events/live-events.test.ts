import type { EventView } from '@waymark/contracts'
import { describe, expect, it } from 'vitest'
import { createReader } from './live-events.ts'

const event = (n: number) => ({ eventId: `e${n}` }) as EventView
const events = (count: number, from = 0) => Array.from({ length: count }, (_, n) => event(from + n))

describe('a reader of live events', () => {
  it('takes what has arrived, in order, once', () => {
    const { queue, reader } = createReader(() => {})
    queue.add(events(2))
    queue.add(events(1, 2))
    expect(reader.take()).toEqual({ events: events(3), dropped: 0 })
    expect(reader.take()).toEqual({ events: [], dropped: 0 })
  })

  it('keeps 500 events for a slow reader and counts those that it leaves out', () => {
    const { queue, reader } = createReader(() => {})
    queue.add(events(500))
    queue.add(events(1, 500))
    expect(reader.take()).toEqual({ events: events(500, 1), dropped: 1 })
  })

  it('waits until something arrives or it is closed', async () => {
    const { queue, reader } = createReader(() => {})
    const waiting = reader.wait(60_000)
    queue.add(events(1))
    expect(await waiting).toBe(true)
    expect(await reader.wait(60_000)).toBe(true)
    reader.take()
    const other = reader.wait(60_000)
    reader.close()
    expect(await other).toBe(false)
    expect(await reader.wait(60_000)).toBe(false)
  })
})
