import { createMemoryLog } from '@waymark/testing'
import { expect, it } from 'vitest'
import { retryFor } from './retry-for.ts'

it('tries again within its time', async () => {
  let tries = 0
  const run = async () => {
    tries++
    if (tries < 2) throw new Error('not yet')
    return 'done'
  }
  expect(await retryFor(5_000, 'it', run, createMemoryLog())).toBe('done')
  expect(tries).toBe(2)
})

it('tries once when there is no time', async () => {
  let tries = 0
  const run = async () => {
    tries++
    throw new Error('never')
  }
  await expect(retryFor(0, 'it', run, createMemoryLog())).rejects.toThrow('never')
  expect(tries).toBe(1)
})
