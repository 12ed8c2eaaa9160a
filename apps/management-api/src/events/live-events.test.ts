import { describe, expect, it } from 'vitest'
import { createReader } from './live-events.ts'

const event = (n: number) => `{"eventId":"e${n}"}`
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

  it('keeps two million characters for a slow reader, and never part of an event', () => {
    const { queue, reader } = createReader(() => {})
    const large = (n: number) => `${n}`.repeat(32 * 1024)
    const added = Array.from({ length: 70 }, (_, n) => large(n % 10))
    for (const one of added) queue.add([one])
    expect(reader.take()).toEqual({ events: added.slice(6), dropped: 6 })
    queue.add([large(1)])
    expect(reader.take()).toEqual({ events: [large(1)], dropped: 0 })
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
