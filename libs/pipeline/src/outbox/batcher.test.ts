import { getEventListeners } from 'node:events'
import { eventually } from '@waymark/testing/unit'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type BatcherOptions, createBatcher } from './batcher.ts'

/** A running batcher whose `send` fails while `target.fails` is set. */
const setUp = (options: Partial<BatcherOptions<number>> = {}) => {
  const target = { fails: false, tries: 0, batches: [] as number[][] }
  const batcher = createBatcher<number>({
    send: async (batch) => {
      target.tries += 1
      if (target.fails) throw new Error('down')
      target.batches.push([...batch])
    },
    lingerMs: 1,
    retryMs: 1,
    maxWaiting: 10,
    ...options,
  })
  const stopping = new AbortController()
  const running = batcher.run(stopping.signal)
  const stop = () => {
    stopping.abort()
    return running
  }
  onTestFinished(async () => void (await stop()))
  return { batcher, target, stop, signal: stopping.signal }
}

describe('the batcher', () => {
  it('sends what was added at the same time as one batch, in order', async () => {
    const { batcher, target } = setUp()
    for (const item of [1, 2, 3]) batcher.add(item)
    await eventually('they are sent', () => target.batches.length > 0)
    expect(target.batches).toEqual([[1, 2, 3]])
    batcher.add(4)
    await eventually('the next is sent', () => target.batches.length > 1)
    expect(target.batches).toEqual([[1, 2, 3], [4]])
  })

  it('leaves no listeners on the signal', async () => {
    const { batcher, target, signal } = setUp()
    for (let sent = 1; sent <= 3; sent++) {
      batcher.add(sent)
      await eventually('it is sent', () => target.batches.length === sent && batcher.waiting() === 0)
    }
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  })

  it('sends at most `maxBatch` items at once', async () => {
    const { batcher, target, stop } = setUp({ maxBatch: 2 })
    for (const item of [1, 2, 3]) batcher.add(item)
    expect(await stop()).toBe(0)
    expect(target.batches).toEqual([[1, 2], [3]])
  })

  it('takes `maxWaiting` items and refuses one more', async () => {
    const { batcher, target } = setUp({ maxWaiting: 2 })
    target.fails = true
    expect([batcher.add(1), batcher.add(2), batcher.add(3)]).toEqual([true, true, false])
    expect(batcher.waiting()).toBe(2)
    target.fails = false
    await eventually('they are sent', () => batcher.waiting() === 0)
    expect(batcher.add(4)).toBe(true)
  })

  it('repeats a failed batch together with later items', async () => {
    const { batcher, target } = setUp()
    target.fails = true
    batcher.add(1)
    await eventually('it was tried', () => target.tries > 0)
    batcher.add(2)
    target.fails = false
    await eventually('both are sent', () => target.batches.length > 0)
    expect(target.batches).toEqual([[1, 2]])
  })

  it('sends the remaining items when it stops, and returns how many it could not send', async () => {
    const sending = setUp({ lingerMs: 60_000 })
    sending.batcher.add(1)
    expect(await sending.stop()).toBe(0)
    expect(sending.target.batches).toEqual([[1]])
    const failing = setUp({ drainMs: 1 })
    failing.target.fails = true
    for (const item of [1, 2]) failing.batcher.add(item)
    expect(await failing.stop()).toBe(2)
  })
})
