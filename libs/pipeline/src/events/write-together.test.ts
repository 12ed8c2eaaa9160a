import { AsyncLocalStorage } from 'node:async_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { expect, it } from 'vitest'
import { writeTogether } from './write-together.ts'

const eventsOf = (...ids: string[]): EnrichedEvent[] => ids.map((eventId) => ({ eventId }) as EnrichedEvent)
const manyOf = (count: number, name: string) =>
  eventsOf(...Array.from({ length: count }, (_, index) => `${name}${index}`))

/** A writer whose writes end when the test says so. */
const setUp = () => {
  const writes: { ids: string[]; end: () => void; fail: (error: Error) => void }[] = []
  const write = writeTogether(
    (events) =>
      new Promise<void>((resolve, reject) => {
        writes.push({ ids: events.map(({ eventId }) => eventId), end: resolve, fail: reject })
      }),
  )
  return { write, idsOf: (index: number) => writes[index]?.ids, writes }
}

const settled = async (promises: Promise<unknown>[]): Promise<string[]> =>
  (await Promise.allSettled(promises)).map(({ status }) => status)

it('writes two batches at once, and those that arrive meanwhile together', async () => {
  const { write, writes, idsOf } = setUp()
  const written = [
    write(eventsOf('a')),
    write(eventsOf('b')),
    write(eventsOf('c')),
    write(eventsOf('d', 'e')),
  ]
  expect(writes.map(({ ids }) => ids)).toEqual([['a'], ['b']])
  writes[0]?.end()
  await nextTurn()
  expect(idsOf(2)).toEqual(['c', 'd', 'e'])
  writes[1]?.end()
  writes[2]?.end()
  await Promise.all(written)
  expect(writes).toHaveLength(3)
})

it('resolves a batch only once its own write has ended', async () => {
  const { write, writes, idsOf } = setUp()
  const ended: string[] = []
  const written = ['a', 'b', 'c'].map((id) => write(eventsOf(id)).then(() => ended.push(id)))
  writes[0]?.end()
  await nextTurn()
  expect(idsOf(2)).toEqual(['c'])
  expect(ended).toEqual(['a'])
  writes[2]?.end()
  await written[2]
  expect(ended).toEqual(['a', 'c'])
  writes[1]?.end()
  await Promise.all(written)
})

it.each([
  { counts: [2_000, 2_000, 1], shared: [4_000, 1] },
  { counts: [2_000, 2_001], shared: [2_000, 2_001] },
  { counts: [5_000, 1], shared: [5_000, 1] },
])('shares a write among at most 4,000 events, or takes one batch: $counts', async ({ counts, shared }) => {
  const { write, writes } = setUp()
  const first = [write(eventsOf('a')), write(eventsOf('b'))]
  const written = counts.map((count, index) => write(manyOf(count, `${index}-`)))
  writes[0]?.end()
  await nextTurn()
  writes[2]?.end()
  await nextTurn()
  writes[3]?.end()
  writes[1]?.end()
  await Promise.all([...first, ...written])
  expect(writes.slice(2).map(({ ids }) => ids.length)).toEqual(shared)
})

it('writes the batches of a failed write alone, so that only those with a bad event fail', async () => {
  const attempts: string[][] = []
  let begin = (): void => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const write = writeTogether(async (events) => {
    const ids = events.map(({ eventId }) => eventId)
    attempts.push(ids)
    await begun
    if (ids.includes('bad')) throw new Error('refused')
  })
  const written = [
    write(eventsOf('a')),
    write(eventsOf('b')),
    write(eventsOf('c')),
    write(eventsOf('d', 'bad')),
  ]
  const all = settled(written)
  begin()
  expect(await all).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected'])
  expect(attempts).toEqual([['a'], ['b'], ['c', 'd', 'bad'], ['c'], ['d', 'bad']])
})

it('writes in the trace of the first batch', async () => {
  const traces = new AsyncLocalStorage<string>()
  const seen: unknown[] = []
  const write = writeTogether(async () => {
    seen.push(traces.getStore())
    await nextTurn()
  })
  await Promise.all(['a', 'b', 'c', 'd'].map((id) => traces.run(id, () => write(eventsOf(id)))))
  expect(seen).toEqual(['a', 'b', 'c'])
})

it('goes on after a failure', async () => {
  let isDown = true
  const write = writeTogether(async () => {
    if (isDown) throw new Error('down')
  })
  expect(await settled([write(eventsOf('a')), write(eventsOf('b')), write(eventsOf('c'))])).toEqual([
    'rejected',
    'rejected',
    'rejected',
  ])
  isDown = false
  expect(await settled([write(eventsOf('a'))])).toEqual(['fulfilled'])
})
