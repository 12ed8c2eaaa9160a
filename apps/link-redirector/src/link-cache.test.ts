import { createMemoryCache } from '@waymark/cache'
import { createChangeNotices } from '@waymark/project-config'
import { createMemoryLog } from '@waymark/testing/unit'
import type { Pool } from 'pg'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createLinkCache } from './link-cache.ts'
import { createLinkStore } from './link-store.ts'
import { linkChanges } from './stored-link-queries.ts'

const HOUR_MS = 60 * 60_000
const OLD = 'https://shop.example/old'
const NEW = 'https://shop.example/new'

// No read runs into the limit for reads, which a busy machine may exceed.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** How far the clocks of a process are ahead, in ms: `startedAhead` permanently, `ahead` until it is changed. */
type Clocks = { startedAhead?: number; ahead?: number }

/** Redirectors that share a cache, on a database with one link. */
const setUp = () => {
  let time = Date.parse('2026-03-01T12:00:00Z')
  let destination = OLD
  let isAway = false
  let changes: { change_id: string; subject: string }[] = []
  const cache = createMemoryCache()
  const redirectors: { poll: () => Promise<void> }[] = []

  const redirector = async ({ startedAhead = 0, ahead = 0 }: Clocks = {}) => {
    const reads: string[] = []
    const query = async ({ name }: { name: string }) => {
      if (isAway) throw Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
      if (name === linkChanges.name) return { rows: changes }
      reads.push(destination)
      return { rows: [{ ...row, destination, read_at: new Date(time) }] }
    }
    const pool = { query } as unknown as Pool
    const log = createMemoryLog()
    const now = () => time + startedAhead
    const notices = createChangeNotices({ pool, log, now, query: linkChanges, maxAgeMs: 10 * 60_000 })
    const store = createLinkStore({ pool, cache, clock: () => time + ahead })
    const links = createLinkCache({ store, changes: notices, now, log })
    await notices.poll()
    redirectors.push(notices)
    return {
      reads,
      destination: async () => (await links.get('sale'))?.destination.url,
      setClock: (aheadMs: number) => {
        ahead = aheadMs
      },
    }
  }
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      time += 1_000
      for (const { poll } of redirectors) await poll()
    }
  }
  /** An edit that does not update the shared copy. */
  const edit = () => {
    destination = NEW
    changes = [{ change_id: 'edited', subject: 'sale' }]
  }
  const cutDatabase = () => {
    isAway = true
  }
  return { redirector, pass, edit, cutDatabase }
}

const row = {
  id: '01900000-0000-7000-8000-00000000000a',
  project_id: '01900000-0000-7000-8000-000000000001',
  domain_id: null,
  code: 'sale',
  status: 'active',
  starts_at: null,
  expires_at: null,
  click_limit: null,
  expired_url: null,
  clicks: '0',
  utm: {},
  forward_query: false,
  targets: [],
  password_hash: null,
  og: null,
  variants: [],
  variant_keys: [],
}

const clocks: [string, Clocks][] = [
  ['is right', {}],
  ['was an hour fast at its start', { startedAhead: HOUR_MS }],
  ['was an hour slow at its start', { startedAhead: -HOUR_MS }],
  ['is an hour fast', { startedAhead: HOUR_MS, ahead: HOUR_MS }],
  ['is an hour slow', { startedAhead: -HOUR_MS, ahead: -HOUR_MS }],
]

describe('cached links of several redirectors', () => {
  describe.each(clocks)("with the reader's clock %s", (_which, reading) => {
    it.each(clocks)("follow an edit within a second, with the writer's clock %s", async (_what, writing) => {
      const { redirector, pass, edit } = setUp()
      const writer = await redirector(writing)
      const reader = await redirector(reading)
      await pass(10)
      expect(await writer.destination()).toBe(OLD)
      await pass(1)
      edit()
      await pass(1)
      expect(await reader.destination()).toBe(NEW)
    })
  })

  it('follow an edit when a copy of a fast process would have expired', async () => {
    const { redirector, pass, edit } = setUp()
    const writer = await redirector({ startedAhead: 120_000, ahead: 120_000 })
    const reader = await redirector()
    await pass(10)
    await writer.destination()
    edit()
    await pass(120)
    expect(await reader.destination()).toBe(NEW)
  })

  it.each([
    ['right', 0],
    ['an hour fast', HOUR_MS],
    ['an hour slow', -HOUR_MS],
  ])('are not read again by a process whose clock was %s at its start', async (_which, startedAhead) => {
    const { redirector, pass } = setUp()
    const writer = await redirector()
    const reader = await redirector({ startedAhead })
    await pass(10)
    await writer.destination()
    expect(await reader.destination()).toBe(OLD)
    expect(reader.reads).toEqual([])
  })

  it.each(clocks)("work without the database with the reader's clock %s", async (_which, reading) => {
    const { redirector, pass, cutDatabase } = setUp()
    const writer = await redirector()
    const reader = await redirector(reading)
    await pass(10)
    await writer.destination()
    cutDatabase()
    expect(await reader.destination()).toBe(OLD)
  })

  it.each([
    ['back', -HOUR_MS],
    ['ahead', HOUR_MS],
  ])('are cached and updated when the clock is set an hour %s', async (_where, jumpMs) => {
    const { redirector, pass, edit } = setUp()
    const process = await redirector()
    await pass(10)
    await process.destination()
    process.setClock(jumpMs)
    await pass(1)
    await process.destination()
    expect(process.reads).toEqual([OLD])
    edit()
    await pass(1)
    expect(await process.destination()).toBe(NEW)
  })
})
