import type { EventsQuery, StoredEvent } from '@waymark/event-store'
import { createMemoryLog, eventually } from '@waymark/testing/unit'
import { describe, expect, it } from 'vitest'
import { createLiveEvents, createReader } from './live-events.ts'

const at = (n: number) => new Date(Date.UTC(2026, 10, 21) + n)
const event = (n: number, json = `{"eventId":"e${n}"}`) => ({ json, receivedAt: at(n) })
const textsOf = (added: readonly { json: string }[]) => added.map(({ json }) => json)
const events = (count: number, from = 0) => Array.from({ length: count }, (_, n) => event(from + n))

describe('a reader of live events', () => {
  it('returns new events once, in order', () => {
    const { queue, reader } = createReader(() => {})
    queue.add(events(2))
    queue.add(events(1, 2))
    expect(reader.take()).toEqual({ events: textsOf(events(3)), gap: undefined })
    expect(reader.take()).toEqual({ events: [], gap: undefined })
  })

  it('keeps 500 events for a slow reader and counts the others', () => {
    const { queue, reader } = createReader(() => {})
    queue.add(events(500))
    queue.add(events(1, 500))
    expect(reader.take()).toEqual({
      events: textsOf(events(500, 1)),
      gap: { dropped: 1, from: at(0), to: at(0) },
    })
  })

  it('keeps two million characters for a slow reader, in whole events', () => {
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

/** A store with events whose ids are numbers, in the order of their receipt. `refuse` may throw for a query. */
const createEvents = (refuse: (what: string) => void) => {
  const stored = [0]
  const placeOf = (n: number) => ({ receivedAt: at(n).getTime(), eventKey: `${n}` })
  const store = {
    readPlaces: async function* ({ below, portion }: EventsQuery) {
      if (below) refuse(COUNT)
      const found = stored.filter((n) => below === undefined || at(n).getTime() < below.receivedAt)
      yield { places: found.reverse().slice(0, portion()).map(placeOf), next: undefined }
    },
    readEvents: async function* ({ eventKeys = [] }: EventsQuery) {
      refuse(READ)
      const numbers = eventKeys.map(Number).sort((one, other) => other - one)
      const events = numbers.map((n) => ({ eventId: `${n}`, receivedAt: at(n).toISOString() }) as StoredEvent)
      yield { events, next: undefined }
    },
  }
  return { store, stored }
}
const COUNT = 'count'
const READ = 'read'

describe('events that no poll has read', () => {
  it.each([
    ['the count', COUNT, [1]],
    ['the count again and again', COUNT, [1, 2, 3]],
    ['the first read', READ, [1]],
    ['a read after another', READ, [2]],
  ])('are reported although %s fails', async (_what, query, failing) => {
    let calls = 0
    const { store, stored } = createEvents((what) => {
      if (what === query && failing.includes(++calls)) throw new Error('away')
    })
    const reader = await createLiveEvents({ store, log: createMemoryLog() }).follow('p', {})
    stored.push(...Array.from({ length: 450 }, (_, n) => 1 + n))
    await eventually('a query has failed', () => calls >= (failing[0] ?? 1))
    stored.push(451)
    const ids: number[] = []
    const gaps: unknown[] = []
    await eventually('the events and a gap', async () => {
      await reader.wait(20)
      const { events: taken, gap } = reader.take()
      ids.push(...taken.map((json) => Number((JSON.parse(json) as { eventId: string }).eventId)))
      if (gap) gaps.push(gap)
      return gaps.length > 0 && ids.includes(451)
    })
    reader.close()
    // The event that came later may take the place of one that was not read yet.
    const [first = 0] = ids
    expect([251, 252]).toContain(first)
    expect(ids).toEqual(Array.from({ length: 452 - first }, (_, n) => first + n))
    expect(gaps).toEqual([{ dropped: first - 1, from: at(1), to: at(first - 1) }])
  })
})

it('reads from an hour before the newest known event, however long ago that was', async () => {
  const { store } = createEvents(() => {})
  const asked: (number | undefined)[] = []
  const readPlaces = (query: EventsQuery) => {
    asked.push(query.receivedFrom)
    return store.readPlaces(query)
  }
  const live = createLiveEvents({ store: { ...store, readPlaces }, log: createMemoryLog() })
  const reader = await live.follow('p', {})
  await eventually('it has polled twice', () => asked.length > 1)
  reader.close()
  expect(asked[1]).toBe(at(0).getTime() - 60 * 60 * 1_000)
})
