import { afterEach, describe, expect, it, vi } from 'vitest'
import { duckdbDialect } from '../duckdb/dialect.ts'
import { readEvents } from './event-queries.ts'

/** The number of statements until it is known that a person has no events, when each takes `ms`. */
const statementsFor = async (ms: number): Promise<number> => {
  let [now, statements] = [0, 0]
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  const query = async () => {
    now += ms
    statements += 1
    if (statements === 1_000) throw new Error('There is no end')
    return []
  }
  const person = { projectId: 'p', profileIds: ['01900000-0000-7000-8000-0000000000aa'], portion: () => 100 }
  for await (const { events } of readEvents({ dialect: duckdbDialect, query }, person))
    expect(events).toEqual([])
  return statements
}

describe('events that are searched for by ranges of receipt', () => {
  afterEach(() => void vi.restoreAllMocks())

  it('take few statements, also when these are slow', async () => {
    expect(await statementsFor(1)).toBeLessThan(10)
    expect(await statementsFor(400)).toBeLessThan(35)
    expect(await statementsFor(5_000)).toBeLessThan(35)
  })
})
