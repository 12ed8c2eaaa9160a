import { createMemoryLog } from '@waymark/testing/unit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createReadThroughCache, type ReadThroughCacheOptions } from './read-through-cache.ts'

type Value = { n: number }

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 })
})
afterEach(() => {
  vi.useRealTimers()
})

/** A cache on a store with the value `stored`, which answers, fails or hangs depending on `mode`. */
const setUp = (options: Partial<ReadThroughCacheOptions<Value>> = {}) => {
  const store = {
    stored: { n: 1 } as Value | null,
    mode: 'answers' as 'answers' | 'fails' | 'hangs',
    isCurrent: false,
  }
  const read = vi.fn(async () => {
    if (store.mode === 'fails') throw new Error('no database')
    if (store.mode === 'hangs') await new Promise<never>(() => {})
    return store.stored && { value: store.stored }
  })
  const cache = createReadThroughCache<Value>({
    name: 'values',
    read,
    isCurrent: () => store.isCurrent,
    max: 10,
    now: () => Date.now(),
    log: createMemoryLog(),
    ...options,
  })
  return { store, read, cache, get: async (key = 'a') => (await cache.get(key))?.value }
}

const unavailable = expect.objectContaining({ code: 'store_unavailable', details: { retryAfter: 5 } })

describe('a read-through cache', () => {
  it('does not keep callers waiting again for a second after a read that hung', async () => {
    const { store, read, get } = setUp()
    await get()
    store.mode = 'hangs'
    const first = get()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await first).toEqual({ n: 1 })
    await vi.advanceTimersByTimeAsync(999)
    expect(await get()).toEqual({ n: 1 })
    expect(read).toHaveBeenCalledTimes(2)
    await vi.advanceTimersByTimeAsync(1)
    void get()
    expect(read).toHaveBeenCalledTimes(3)
  })

  it('reads a current value once, and an outdated one again', async () => {
    const { store, read, get } = setUp()
    store.isCurrent = true
    await get()
    store.stored = { n: 2 }
    expect(await get()).toEqual({ n: 1 })
    store.isCurrent = false
    expect(await get()).toEqual({ n: 2 })
    expect(read).toHaveBeenCalledTimes(2)
  })

  it('shares a read between concurrent callers, and reads again when its value is outdated', async () => {
    const { store, read, get } = setUp()
    store.isCurrent = true
    expect(await Promise.all([get(), get(), get()])).toEqual(Array(3).fill({ n: 1 }))
    expect(read).toHaveBeenCalledTimes(1)
    store.isCurrent = false
    await Promise.all([get(), get(), get()])
    expect(read).toHaveBeenCalledTimes(3)
  })

  it('gives up a read after 3.5 s when no value is cached', async () => {
    const { store, get } = setUp()
    store.mode = 'hangs'
    const outcome = expect(get()).rejects.toThrow(unavailable)
    await vi.advanceTimersByTimeAsync(3_499)
    store.mode = 'answers'
    const joined = expect(get()).rejects.toThrow(unavailable)
    await vi.advanceTimersByTimeAsync(1)
    await Promise.all([outcome, joined])
    expect(await get()).toEqual({ n: 1 })
  })

  it('uses a value for `maxStaleMs` while the store fails, and no longer', async () => {
    const { store, get } = setUp({ maxStaleMs: 5_000 })
    await get()
    store.mode = 'fails'
    await vi.advanceTimersByTimeAsync(4_999)
    expect(await get()).toEqual({ n: 1 })
    await vi.advanceTimersByTimeAsync(1)
    await expect(get()).rejects.toThrow(unavailable)
  })

  it('uses a copy while the store fails and no value is cached', async () => {
    const { store, read, get } = setUp({ readCopy: async () => ({ value: { n: 0 } }), maxStaleMs: 5_000 })
    store.mode = 'fails'
    expect(await get()).toEqual({ n: 0 })
    await vi.advanceTimersByTimeAsync(999)
    expect(await get()).toEqual({ n: 0 })
    expect(read).toHaveBeenCalledTimes(1)
    store.mode = 'answers'
    await vi.advanceTimersByTimeAsync(1)
    expect(await get()).toEqual({ n: 1 })
  })

  it('caches for 2 s that there is no value', async () => {
    const { store, read, get } = setUp()
    store.stored = null
    expect(await get()).toBeUndefined()
    store.stored = { n: 1 }
    await vi.advanceTimersByTimeAsync(1_999)
    expect(await get()).toBeUndefined()
    expect(read).toHaveBeenCalledTimes(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(await get()).toEqual({ n: 1 })
  })

  it('removes a value that no longer exists', async () => {
    const { store, get } = setUp()
    await get()
    store.stored = null
    expect(await Promise.all([get(), get()])).toEqual([undefined, undefined])
    store.mode = 'fails'
    await vi.advanceTimersByTimeAsync(2_000)
    await expect(get()).rejects.toThrow(unavailable)
  })

  it('keeps its values when many keys have none', async () => {
    const { store, read, get } = setUp({ max: 2, maxMissing: 3 })
    store.isCurrent = true
    await get('a')
    store.stored = null
    for (const key of ['b', 'c', 'd', 'e']) await get(key)
    read.mockClear()
    expect(await get('a')).toEqual({ n: 1 })
    for (const key of ['c', 'd', 'e']) await get(key)
    expect(read).not.toHaveBeenCalled()
    await get('b')
    expect(read).toHaveBeenCalledTimes(1)
  })

  it('returns an outdated value at once and reads it again in the background, if configured', async () => {
    const { store, read, get } = setUp({ staleWhileRefreshing: true })
    await get()
    store.stored = { n: 2 }
    expect(await get()).toEqual({ n: 1 })
    expect(read).toHaveBeenCalledTimes(2)
    await vi.advanceTimersByTimeAsync(0)
    store.mode = 'fails'
    expect(await get()).toEqual({ n: 2 })
    await vi.advanceTimersByTimeAsync(999)
    expect(await get()).toEqual({ n: 2 })
    expect(read).toHaveBeenCalledTimes(3)
  })
})

describe('the latest value', () => {
  it('is read although another read is in flight, whose result is then dropped', async () => {
    const { store, read, cache, get } = setUp()
    const gate = Promise.withResolvers<void>()
    read.mockImplementationOnce(async () => {
      await gate.promise
      return { value: { n: 0 } }
    })
    const early = get()
    expect((await cache.getLatest('a'))?.value).toEqual({ n: 1 })
    gate.resolve()
    expect(await early).toEqual({ n: 0 })
    store.isCurrent = true
    expect(await get()).toEqual({ n: 1 })
  })

  it('is the cached one, with the error, while the store fails', async () => {
    const { store, cache, get } = setUp()
    await get()
    store.mode = 'fails'
    expect(await cache.getLatest('a')).toMatchObject({ value: { n: 1 }, error: new Error('no database') })
    store.mode = 'answers'
    expect((await cache.getLatest('a'))?.error).toBeUndefined()
  })

  it('is not replaced by a value that was read before it', async () => {
    const { cache } = setUp()
    await cache.get('a')
    const readAt = cache.peek('a')?.readAt ?? Number.NaN
    cache.set('a', { n: 0 }, readAt - 1)
    expect(cache.peek('a')?.value).toEqual({ n: 1 })
    cache.set('a', { n: 2 }, readAt)
    expect(cache.peek('a')?.value).toEqual({ n: 2 })
  })
})
