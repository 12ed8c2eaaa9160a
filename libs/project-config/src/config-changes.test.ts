import { createReadThroughCache } from '@waymark/cache'
import { createMemoryLog } from '@waymark/testing/unit'
import type { Pool } from 'pg'
import { describe, expect, it } from 'vitest'
import { createConfigChanges } from './config-changes.ts'

const REQUESTS = 50

/** A database with one changing value, and a process that caches it. */
const setUp = () => {
  let time = 1
  const world = {
    value: 'old',
    changes: [] as { change_id: string; subject: string }[],
    /** Polls and reads wait for this promise after they have read the database. */
    before: Promise.resolve(),
    away: false,
    polls: 0,
    reads: 0,
    commit: (value: string) => {
      world.value = value
      world.changes.push({ change_id: `${world.changes.length}`, subject: 'project' })
    },
  }
  // The clock advances with every call.
  const now = () => ++time
  const query = async () => {
    world.polls++
    if (world.away) throw new Error('no database')
    const version = `${1_000 + now()}`
    const seen = [...world.changes]
    await world.before
    const rows =
      seen.length > 0 ? seen.map((change) => ({ version, ...change })) : [{ version, change_id: null }]
    return { rows }
  }
  const log = createMemoryLog()
  // The only method of a pool that is used.
  const changes = createConfigChanges({ pool: { query } as unknown as Pool, log, now })
  const values = createReadThroughCache<{ value: string }>({
    name: 'values',
    read: async () => {
      world.reads++
      const { value } = world
      await world.before
      return { value: { value } }
    },
    isCurrent: (_value, readAt) => changes.isCurrent('project', readAt),
    max: 10,
    now,
    log,
  })
  return { world, changes, get: async () => (await values.get('project'))?.value.value }
}

/** A promise with its resolver. */
const gate = () => {
  let open = () => {}
  const closed = new Promise<void>((resolve) => {
    open = resolve
  })
  return { closed, open }
}

describe('a change of the configuration', () => {
  it('applies in its process after a refresh, and is read once', async () => {
    const { world, changes, get } = setUp()
    await changes.poll()
    expect(await get()).toBe('old')
    world.commit('new')
    expect(await get()).toBe('old')
    await changes.refresh()
    expect(await Promise.all(Array.from({ length: REQUESTS }, get))).toEqual(Array(REQUESTS).fill('new'))
    expect(world.reads).toBe(2)
  })

  it('applies although a poll began before it', async () => {
    const { world, changes, get } = setUp()
    await changes.poll()
    await get()
    const { closed, open } = gate()
    world.before = closed
    const early = changes.poll()
    world.commit('new')
    world.before = Promise.resolve()
    const late = changes.refresh().then(get)
    open()
    await early
    expect(await late).toBe('new')
  })

  it('applies although a read began before it', async () => {
    const { world, changes, get } = setUp()
    await changes.poll()
    const { closed, open } = gate()
    world.before = closed
    const early = get()
    world.commit('new')
    world.before = Promise.resolve()
    await changes.refresh()
    const late = get()
    open()
    expect(await early).toBe('old')
    expect(await late).toBe('new')
  })

  it('applies in another process when its version is requested', async () => {
    const one = setUp()
    await one.changes.poll()
    const version = `${await one.changes.refresh()}`
    const other = setUp()
    await other.changes.poll()
    expect(await other.get()).toBe('old')
    other.world.commit('new')
    await other.changes.catchUp(`${Number(version) + 1_000}`)
    expect(await other.get()).toBe('new')
  })

  it('is not polled for when the version is known', async () => {
    const { world, changes } = setUp()
    const version = `${await changes.refresh()}`
    for (const known of [version, '0', '1']) await changes.catchUp(known)
    expect(world.polls).toBe(1)
  })

  it.each(['99999999999999999999', 'latest', '', '-1', '1e9'])(
    'is looked for once for many requests with the version %j',
    async (version) => {
      const { world, changes } = setUp()
      await changes.poll()
      await Promise.all(Array.from({ length: REQUESTS }, () => changes.catchUp(version)))
      expect(world.polls).toBe(2)
    },
  )

  it('delays no request while the database is unavailable', async () => {
    const { world, changes, get } = setUp()
    await changes.poll()
    await get()
    world.away = true
    expect(await changes.refresh()).toBeUndefined()
    await changes.catchUp('latest')
    expect(await get()).toBe('old')
  })

  it('invalidates what was read before a failed refresh', async () => {
    const { world, changes, get } = setUp()
    await changes.poll()
    expect(await get()).toBe('old')
    world.commit('new')
    world.away = true
    await changes.refresh()
    expect(await get()).toBe('new')
  })
})
