import { describe, expect, it } from 'vitest'
import { createReader } from './live-events.ts'

const at = (n: number) => new Date(Date.UTC(2026, 10, 21) + n)
const event = (n: number, json = `{"eventId":"e${n}"}`) => ({ json, receivedAt: at(n) })
const textsOf = (added: readonly { json: string }[]) => added.map(({ json }) => json)
const events = (count: number, from = 0) => Array.from({ length: count }, (_, n) => event(from + n))

describe('a reader of live events', () => {
  it('takes what has arrived, in order, once', () => {
    const { queue, reader } = createReader(() => {})
    queue.add(events(2))
    queue.add(events(1, 2))
    expect(reader.take()).toEqual({ events: textsOf(events(3)), gap: undefined })
    expect(reader.take()).toEqual({ events: [], gap: undefined })
  })

  it('keeps 500 events for a slow reader and counts those that it leaves out', () => {
    const { queue, reader } = createReader(() => {})
    queue.add(events(500))
    queue.add(events(1, 500))
    expect(reader.take()).toEqual({
      events: textsOf(events(500, 1)),
      gap: { dropped: 1, from: at(0), to: at(0) },
    })
  })

  it('keeps two million characters for a slow reader, and never part of an event', () => {
    const { queue, reader } = createReader(() => {})
    const large = (n: number) => event(n, `${n % 10}`.repeat(32 * 1024))
    const added = Array.from({ length: 70 }, (_, n) => large(n))
    for (const one of added) queue.add([one])
    expect(reader.take()).toEqual({
      events: textsOf(added.slice(6)),
      gap: { dropped: 6, from: at(0), to: at(5) },
    })
    queue.add([large(1)])
    expect(reader.take()).toEqual({ events: textsOf([large(1)]), gap: undefined })
  })

  it('counts events that no poll has read together with those that it leaves out', async () => {
    const { queue, reader } = createReader(() => {})
    queue.skip({ dropped: 300, from: at(10), to: at(20) })
    expect(await reader.wait(60_000)).toBe(true)
    queue.add(events(501))
    expect(reader.take()).toEqual({
      events: textsOf(events(500, 1)),
      gap: { dropped: 301, from: at(0), to: at(20) },
    })
    queue.skip({ dropped: 2, from: at(30), to: at(31) })
    queue.skip({ dropped: 1, from: at(29), to: at(29) })
    expect(reader.take()).toEqual({ events: [], gap: { dropped: 3, from: at(29), to: at(31) } })
    expect(reader.take()).toEqual({ events: [], gap: undefined })
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
