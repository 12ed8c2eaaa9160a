import { createMemoryLog } from '@waymark/testing/unit'
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

it('waits longer than its time for some errors, and logs the same reason once', async () => {
  const log = createMemoryLog()
  let tries = 0
  const run = async () => {
    tries++
    if (tries < 4) throw new Error('the migrations are not applied yet')
    return 'done'
  }
  expect(await retryFor(run, { ms: 1_500, what: 'it', log, isWithoutLimit: () => true })).toBe('done')
  expect(log.lines.map(({ message }) => message)).toEqual(['Waiting for it'])
})

it('does not wait for them when there is no time', async () => {
  const run = async () => {
    throw new Error('never')
  }
  await expect(retryFor(run, { ms: 0, ...options, isWithoutLimit: () => true })).rejects.toThrow('never')
})
