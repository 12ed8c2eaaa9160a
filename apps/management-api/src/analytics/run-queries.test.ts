import { setImmediate as nextTurn } from 'node:timers/promises'
import { MAX_QUERIES_PER_PROJECT } from '@waymark/contracts/http/analytics-parts'
import { type EventQueries, EventStoreUnavailableError, QueryTimeoutError } from '@waymark/event-store'
import { describe, expect, it } from 'vitest'
import { createRunList, createRunQuery } from './run-queries.ts'

const RANGE = { from: Date.parse('2026-01-01T00:00:00Z'), to: Date.parse('2026-01-31T00:00:00Z') }
const queries = { listProperties: async () => [] } as unknown as EventQueries
const store = { queriesUntil: () => queries }
const about = (projectId: string) => ({ projectId, request: { onEnd: () => {} }, ...RANGE })

describe('a query', () => {
  it(`is one of at most ${MAX_QUERIES_PER_PROJECT} of its project, and of none of another's`, async () => {
    const run = createRunQuery(store)
    const { promise, resolve } = Promise.withResolvers<string>()
    const first = Array.from({ length: MAX_QUERIES_PER_PROJECT }, () => run(about('a'), () => promise))
    await expect(run(about('a'), async () => 'more')).rejects.toMatchObject({
      code: 'rate_limited',
      message: expect.stringContaining(`${MAX_QUERIES_PER_PROJECT} queries`),
      details: { retryAfterSeconds: 1 },
    })
    expect(await run(about('b'), async () => 'other')).toBe('other')
    resolve('done')
    expect(await Promise.all(first)).toEqual(first.map(() => 'done'))
    expect(await run(about('a'), async () => 'next')).toBe('next')
  })

  it('waits for the others of its project', async () => {
    const run = createRunQuery(store)
    const { promise, resolve } = Promise.withResolvers<string>()
    const first = Array.from({ length: MAX_QUERIES_PER_PROJECT }, () => run(about('a'), () => promise))
    const next = run(about('a'), async () => 'next')
    resolve('done')
    expect(await Promise.all([...first, next])).toEqual([...first.map(() => 'done'), 'next'])
  })

  it('of a visitor of a shared link takes no place of those of the project', async () => {
    const run = createRunQuery(store)
    const { promise, resolve } = Promise.withResolvers<string>()
    const shared = { ...about('a'), lane: 'shared' as const }
    const visitors = [1, 2].map(() => run(shared, () => promise))
    await expect(run(shared, async () => 'third')).rejects.toMatchObject({ code: 'rate_limited' })
    const own = Array.from({ length: MAX_QUERIES_PER_PROJECT }, () => run(about('a'), () => promise))
    await expect(run(about('a'), async () => 'more')).rejects.toMatchObject({ code: 'rate_limited' })
    resolve('done')
    await Promise.all([...visitors, ...own])
    expect(await run(shared, async () => 'next')).toBe('next')
  })

  it('gets an error that suggests a shorter time range, and counts until the store has finished', async () => {
    const run = createRunQuery(store, 1)
    const { promise, resolve } = Promise.withResolvers<never[]>()
    const asked: string[] = []
    const slow = () =>
      run(about('a'), async (queryStore) => {
        await queryStore(() => promise)
        await queryStore(async () => asked.push('second'))
      })
    const late = Array.from({ length: MAX_QUERIES_PER_PROJECT }, slow)
    for (const query of late)
      await expect(query).rejects.toMatchObject({
        code: 'store_unavailable',
        message: expect.stringContaining('such as 2026-01-16T00:00:00.000Z to 2026-01-31T00:00:00.000Z'),
        details: { retryAfterSeconds: 10 },
      })
    await expect(slow()).rejects.toMatchObject({ code: 'rate_limited' })
    resolve([])
    await new Promise((settled) => setImmediate(settled))
    expect(asked).toEqual([])
    expect(await run(about('a'), async () => 'next')).toBe('next')
  })

  it('gets the same error when the store reports the timeout', async () => {
    const run = createRunQuery(store)
    const failing = run(about('a'), (queryStore) =>
      queryStore(() => Promise.reject(new QueryTimeoutError('too much'))),
    )
    await expect(failing).rejects.toMatchObject({ code: 'store_unavailable' })
  })

  it('answers 503 when the store is unavailable', async () => {
    const run = createRunQuery(store)
    const failing = run(about('a'), () => Promise.reject(new EventStoreUnavailableError('away')))
    await expect(failing).rejects.toMatchObject({
      code: 'store_unavailable',
      message: 'STORE_UNAVAILABLE',
      details: { retryAfterSeconds: 30 },
    })
  })

  it('passes other errors on', async () => {
    const run = createRunQuery(store)
    await expect(run(about('a'), () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
    expect(await run(about('a'), (queryStore) => queryStore((of) => of.listProperties({} as never)))).toEqual(
      [],
    )
  })
})

describe('a list of events', () => {
  it('is one of at most 8 of its tenant and 16 in all, and waits for its turn', async () => {
    const list = createRunList(store)
    const { promise, resolve } = Promise.withResolvers<void>()
    const started: string[] = []
    const all = ['a', 'b', 'c'].flatMap((project) =>
      Array.from({ length: 9 }, () =>
        list(about(project), async () => {
          started.push(project)
          await promise
        }),
      ),
    )
    await nextTurn()
    const countOf = (wanted: string) => started.filter((project) => project === wanted).length
    expect(['a', 'b', 'c'].map(countOf)).toEqual([8, 8, 0])
    resolve()
    await Promise.all(all)
    expect(['a', 'b', 'c'].map(countOf)).toEqual([9, 9, 9])
  })

  it('does not wait for reports', async () => {
    const run = createRunQuery(store)
    const { promise, resolve } = Promise.withResolvers<void>()
    const reports = Array.from({ length: MAX_QUERIES_PER_PROJECT }, () => run(about('a'), () => promise))
    expect(await createRunList(store)(about('a'), async () => 'list')).toBe('list')
    resolve()
    await Promise.all(reports)
  })

  it('is refused with a retry time when it takes too long or the store is unavailable', async () => {
    const list = createRunList(store)
    await expect(list({ ...about('a'), timeoutMs: 1 }, () => new Promise(() => {}))).rejects.toMatchObject({
      code: 'store_unavailable',
      details: { retryAfterSeconds: 10 },
    })
    await expect(
      list(about('a'), () => Promise.reject(new EventStoreUnavailableError('away'))),
    ).rejects.toMatchObject({
      code: 'store_unavailable',
      message: 'STORE_UNAVAILABLE',
      details: { retryAfterSeconds: 30 },
    })
  })
})
