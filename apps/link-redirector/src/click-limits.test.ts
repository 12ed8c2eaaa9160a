import { createMemoryTotals, type SharedTotals } from '@waymark/cache'
import { createMemoryLog } from '@waymark/testing/unit'
import type { Pool } from 'pg'
import { expect, it } from 'vitest'
import { createClickLimits } from './click-limits.ts'

const link = (clickLimit: number | null, clicks = 0) => ({ id: 'link', clickLimit, clicks })

/** Processes that share totals and a database, both of which the test can make unavailable. */
const setUp = () => {
  const world = { stored: 0, databaseAway: false, totalsAway: false, totals: createMemoryTotals() }
  const totals: SharedTotals = {
    add: async (increments) => (world.totalsAway ? undefined : world.totals.add(increments)),
    close: async () => {},
  }
  const query = async () => {
    if (world.databaseAway) throw new Error('away')
    return { rows: [{ link_id: 'link', clicks: `${world.stored}` }] }
  }
  const startProcess = () =>
    createClickLimits({ totals, pool: { query } as unknown as Pool, log: createMemoryLog() })
  return { world, startProcess }
}
const click = (limits: ReturnType<typeof createClickLimits>, times: number, limit = link(10)): number =>
  Array.from({ length: times }, () => limits.allows(limit, true)).filter(Boolean).length

it('allows clicks up to the limit including stored ones, and all without a limit', () => {
  const limits = setUp().startProcess()
  expect(click(limits, 100, link(null))).toBe(100)
  expect(click(limits, 20, link(10, 4))).toBe(6)
})

it('does not count bots, and refuses them at the limit', () => {
  const limits = setUp().startProcess()
  expect(limits.allows(link(1), false)).toBe(true)
  expect(click(limits, 2, link(1))).toBe(1)
  expect(limits.allows(link(1), false)).toBe(false)
})

it('counts a click once that was shared, stored and read again', async () => {
  const { world, startProcess } = setUp()
  const [a, b] = [startProcess(), startProcess()]
  expect(click(a, 4)).toBe(4)
  await a.share()
  world.stored = 4
  b.allows(link(10, 4), false)
  await Promise.all([a.refresh(), b.refresh(), a.share(), b.share()])
  expect(click(b, 20, link(10, 4))).toBe(6)
  await b.share()
  a.allows(link(10), false)
  await a.refresh()
  expect(a.allows(link(10), true)).toBe(false)
})

it('restarts from the stored count when the totals were lost', async () => {
  const { world, startProcess } = setUp()
  const a = startProcess()
  click(a, 6)
  await a.share()
  world.stored = 6
  world.totals = createMemoryTotals()
  const b = startProcess()
  b.allows(link(10), false)
  await b.refresh()
  expect(click(b, 20)).toBe(4)
})

it('uses its own and the stored counts without shared totals, and works without the database', async () => {
  const { world, startProcess } = setUp()
  world.totalsAway = true
  const [a, b] = [startProcess(), startProcess()]
  expect(click(a, 6)).toBe(6)
  await a.share()
  world.stored = 6
  b.allows(link(10), false)
  await b.refresh()
  expect(click(b, 20)).toBe(4)
  world.databaseAway = true
  a.allows(link(10), false)
  await a.refresh()
  expect(click(a, 20)).toBe(4)
})
