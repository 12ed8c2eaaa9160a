import { createMemoryLog } from '@waymark/testing'
import { expect, it } from 'vitest'
import { retryFor } from './retry-for.ts'

const options = { what: 'it', log: createMemoryLog() }

it('retries within its time', async () => {
  let tries = 0
  const run = async () => {
    tries++
    if (tries < 2) throw new Error('not yet')
    return 'done'
  }
  expect(await retryFor(run, { ms: 5_000, ...options })).toBe('done')
  expect(tries).toBe(2)
})

it('runs once when there is no time', async () => {
  let tries = 0
  const run = async () => {
    tries++
    throw new Error('never')
  }
  await expect(retryFor(run, { ms: 0, ...options })).rejects.toThrow('never')
  expect(tries).toBe(1)
})

it('ends when its signal aborts', async () => {
  const ending = new AbortController()
  const run = async () => {
    ending.abort()
    throw new Error('not yet')
  }
  await expect(retryFor(run, { ms: 60_000, ...options, signal: ending.signal })).rejects.toThrow(
    expect.objectContaining({ name: 'AbortError' }),
  )
})
