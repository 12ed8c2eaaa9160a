import { createMemoryCache } from '@waymark/cache'
import { createMemoryLog } from '@waymark/testing/unit'
import type { Pool } from 'pg'
import { describe, expect, it, vi } from 'vitest'
import { createCompileOnce, createProjectConfigs } from './project-configs.ts'

const PROJECT = '01900000-0000-7000-8000-000000000001'
const snapshot = {
  projectId: PROJECT,
  tenantId: 'tenant',
  settings: { ingestValidation: { mode: 'enforce' } },
  definitions: { order: { required: ['total'] } },
  selectors: [],
  loyaltyProgrammes: [],
  decisions: [],
  segments: [],
  triggers: [],
}
const away = {
  query: async () => {
    throw Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
  },
} as unknown as Pool

/** The configuration in a new process without database, and with `text` in the cache. */
const configBy = async (text: string) => {
  const cache = createMemoryCache()
  await cache.set(`project-config:v6:${PROJECT}`, text, 60_000)
  const changes = { isCurrent: () => true, isWatching: () => true, poll: async () => {} }
  return createProjectConfigs({ pool: away, cache, changes, log: createMemoryLog(), now: Date.now }).get(
    PROJECT,
  )
}

describe('a copy of a configuration', () => {
  it('is used while the database is unavailable', async () => {
    const config = await configBy(JSON.stringify(snapshot))
    expect(config.settings).toEqual(snapshot.settings)
    expect(config.checkFor('order')?.({})).toHaveLength(1)
  })

  it.each([
    ['no JSON', '{'],
    ['null', 'null'],
    ['of an older shape', JSON.stringify({ projectId: PROJECT, settings: {}, definitions: {} })],
    ['of another project', JSON.stringify({ ...snapshot, projectId: 'another' })],
    ['with lists that are none', JSON.stringify({ ...snapshot, selectors: {} })],
    ['with decisions that are none', JSON.stringify({ ...snapshot, decisions: [{ key: 'a' }] })],
    ['with definitions that are none', JSON.stringify({ ...snapshot, definitions: { order: 'x' } })],
  ])('does not count when it is %s', async (_what, text) => {
    await expect(configBy(text)).rejects.toMatchObject({ code: 'store_unavailable' })
  })

  it('loses a setting that this version does not know, and no other', async () => {
    const settings = { ...snapshot.settings, newer: true }
    expect((await configBy(JSON.stringify({ ...snapshot, settings }))).settings).toEqual(snapshot.settings)
  })

  it('omits only parts that cannot be compiled', async () => {
    const decision = { id: 'd', key: 'banner', status: 'active', version: 1, definition: {} }
    const config = await configBy(
      JSON.stringify({ ...snapshot, decisions: [decision], definitions: { order: { type: 'no such' } } }),
    )
    expect(config.checkFor('order')?.({})).toMatchObject([{ rule: 'unusable_schema' }])
    expect(config.settings).toEqual(snapshot.settings)
  })
})

describe('the current configuration', () => {
  it('is never outdated, also after a failed read', async () => {
    const row = (hasNew: boolean) => ({ rows: [{ ...snapshot, definitions: hasNew ? { refund: {} } : {} }] })
    const refuse = async () => Promise.reject(new Error('away'))
    const answers = [async () => row(false), refuse, async () => row(true)]
    const pool = { query: async () => answers.shift()?.() } as unknown as Pool
    const changes = { isCurrent: () => false, isWatching: () => true }
    const deps = { pool, cache: createMemoryCache(), changes, log: createMemoryLog(), now: Date.now }
    const configs = createProjectConfigs(deps)
    expect((await configs.get(PROJECT)).hasDefinitions).toBe(false)
    expect((await configs.getCurrent(PROJECT)).hasDefinitions).toBe(true)
  })

  it('is an error while the database is unavailable', async () => {
    let reads = 0
    const query = async () => {
      if (reads++ === 0) return { rows: [snapshot] }
      throw Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
    }
    const pool = { query } as unknown as Pool
    const changes = { isCurrent: () => false, isWatching: () => true }
    const deps = { pool, cache: createMemoryCache(), changes, log: createMemoryLog(), now: Date.now }
    const configs = createProjectConfigs(deps)
    await configs.get(PROJECT)
    await expect(configs.getCurrent(PROJECT)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })
})

describe('compiled parts of a configuration', () => {
  const selector = (id: string) => ({
    id,
    eventName: 'order',
    filter: { '==': [{ var: 'properties.id' }, id] },
    amountProperty: null,
    currencyProperty: null,
    quantityProperty: null,
  })
  const trigger = {
    id: 't',
    eventName: 'order',
    filter: null,
    cooldownSeconds: 0,
    activatedAt: '2026-01-01T00:00:00Z',
  }
  /** The configuration from a database that returns `parts` in turn, read again each time. */
  const readEachOf = (...parts: object[]) => {
    const rows = parts.map((part) => ({ ...snapshot, ...part }))
    const pool = { query: async () => ({ rows: [rows.length > 1 ? rows.shift() : rows[0]] }) }
    const changes = { isCurrent: () => false, isWatching: () => true, poll: async () => {} }
    const log = createMemoryLog()
    const deps = { pool: pool as unknown as Pool, cache: createMemoryCache(), changes, log, now: Date.now }
    const configs = createProjectConfigs(deps)
    return { log, read: () => configs.get(PROJECT) }
  }

  it('are reused from the previous configuration if they have not changed', async () => {
    const { read } = readEachOf(
      { definitions: { a: { required: ['x'] }, b: { required: ['x'] }, c: { required: ['x'] } } },
      { definitions: { a: { required: ['x'] }, b: { required: ['y'] } } },
    )
    const before = await read()
    const [a, b] = [before.checkFor('a'), before.checkFor('b')]
    const after = await read()
    expect(after).not.toBe(before)
    expect(after.checkFor('a')).toBe(a)
    expect(after.checkFor('b')).not.toBe(b)
    expect(after.checkFor('b')?.({})).toMatchObject([{ field: 'properties.y' }])
    expect(after.checkFor('c')).toBeUndefined()
  })

  it('are compiled one per turn of the event loop', async () => {
    const { read } = readEachOf({
      selectors: [selector('1'), selector('2')],
      triggers: [trigger],
    })
    const config = await read()
    const turnsOf = async (use: 'ingestion' | 'emails', names: string[]) => {
      const next = vi.fn(async () => {})
      await config.prepare(use, names, { isOver: () => true, next })
      return next.mock.calls.length
    }
    // The definition and two selectors.
    expect(await turnsOf('ingestion', ['order', 'unknown'])).toBeGreaterThanOrEqual(3)
    expect(await turnsOf('emails', ['order', 'unknown'])).toBe(1)
    expect(config.selectorsFor('order')).toHaveLength(2)
    expect(config.triggersFor('order')).toHaveLength(1)
  })

  it('are compiled only once when that fails', async () => {
    const { log, read } = readEachOf({ definitions: { order: { type: 'no such' } } })
    const config = await read()
    await config.prepare('ingestion', ['order'], { isOver: () => false, next: async () => {} })
    expect(config.checkFor('order')).toBeDefined()
    expect(log.lines.filter(({ level }) => level === 'error')).toHaveLength(1)
  })

  it('warn once of keywords that earlier versions accepted', async () => {
    const { log, read } = readEachOf({ definitions: { order: { $async: true, required: ['total'] } } })
    const config = await read()
    expect(config.checkFor('order')?.({})).toMatchObject([{ field: 'properties.total' }])
    expect(config.checkFor('order')?.({ total: 1 })).toEqual([])
    expect(log.lines.filter(({ level }) => level === 'warn')).toMatchObject([
      { details: { eventName: 'order', keywords: ['$async'] } },
    ])
  })
})

type Part = { name: string }

describe('compiling once', () => {
  const setUp = (maxSize: number) => {
    const compile = vi.fn(({ name }: Part) => ({ compiled: name }))
    return { compile, once: createCompileOnce<Part, object>(compile, { sizeOf: () => 9, maxSize }) }
  }

  it('identifies a part by its content', () => {
    const { compile, once } = setUp(100)
    const first = once({ name: 'a' })
    expect(once({ name: 'a' })).toBe(first)
    expect(once({ name: 'b' })).toEqual({ compiled: 'b' })
    expect(compile).toHaveBeenCalledTimes(2)
  })

  it('evicts the least recently used parts when their size exceeds the limit', () => {
    const { compile, once } = setUp(20)
    once({ name: 'a' })
    once({ name: 'b' })
    once({ name: 'a' })
    expect(compile).toHaveBeenCalledTimes(2)
    once({ name: 'c' })
    once({ name: 'a' })
    expect(compile).toHaveBeenCalledTimes(3)
    once({ name: 'b' })
    expect(compile).toHaveBeenCalledTimes(4)
  })

  it('compiles a failed part again', () => {
    const compile = vi.fn((_part: Part): object => {
      throw new Error('unusable')
    })
    const once = createCompileOnce(compile, { sizeOf: () => 1, maxSize: 10 })
    const part = { name: 'a' }
    expect(() => once(part)).toThrow('unusable')
    expect(() => once(part)).toThrow('unusable')
    expect(compile).toHaveBeenCalledTimes(2)
  })
})
