import type { StartedTestContainer } from 'testcontainers'
import { expect, it, vi } from 'vitest'
import { startTogether } from './containers.ts'

/** A container that only records whether it was stopped. */
const aContainer = () => {
  const stop = vi.fn(async () => {})
  return { stop, started: { container: { stop } as unknown as StartedTestContainer } }
}

it('starts several servers together', async () => {
  const [one, other] = [aContainer(), aContainer()]
  const both = await startTogether(Promise.resolve(one.started), Promise.resolve(other.started))
  expect(both).toEqual([one.started, other.started])
  expect(one.stop).not.toHaveBeenCalled()
})

it('stops the started ones, also later, when one fails to start', async () => {
  const [early, late] = [aContainer(), aContainer()]
  const starting = Promise.withResolvers<typeof late.started>()
  const together = startTogether(
    Promise.resolve(early.started),
    Promise.reject<typeof early.started>(new Error('not ready within 300 s')),
    starting.promise,
  )
  starting.resolve(late.started)
  await expect(together).rejects.toThrow('not ready within 300 s')
  expect(early.stop).toHaveBeenCalledOnce()
  expect(late.stop).toHaveBeenCalledOnce()
})
