import { describe, expect, it } from 'vitest'
import { createSlots } from './slots.ts'

/** Slots that record which work began. The test ends each piece of work. */
const watch = (count: number, maxPerOwner?: number) => {
  const slots = createSlots(
    Array.from({ length: count }, (_, place) => place),
    maxPerOwner,
  )
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  return {
    slots,
    begun: async () => {
      await settle()
      return begun.splice(0)
    },
    ask: (owner: string, name: string, signal?: AbortSignal) =>
      slots.use(
        async () => {
          begun.push(name)
          await new Promise<void>((resolve) => ends.set(name, resolve))
        },
        owner,
        signal,
      ),
    end: (name: string) => ends.get(name)?.(),
  }
}

describe('slots', () => {
  it('start a query of another owner at once, however many one owner has requested', async () => {
    const { ask, begun, end } = watch(2, 1)
    const all = ['a1', 'a2', 'a3'].map((name) => ask('a', name))
    expect(await begun()).toEqual(['a1'])
    all.push(ask('b', 'b1'))
    expect(await begun()).toEqual(['b1'])
    for (const name of ['a1', 'a2', 'a3', 'b1']) {
      end(name)
      await begun()
    }
    await Promise.all(all)
  })

  it('let owners take turns', async () => {
    const { ask, begun, end } = watch(1)
    const all = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map((name) => ask(name.charAt(0), name))
    const order: string[] = []
    for (let name = (await begun())[0]; name !== undefined; name = (await begun())[0]) {
      order.push(name)
      end(name)
    }
    expect(order).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2'])
    await Promise.all(all)
  })

  it('are free for an owner who holds less than an owner may', async () => {
    const { slots, ask, begun, end } = watch(2, 1)
    const all = [ask('a', 'a1')]
    expect([slots.isFree('a'), slots.isFree('b')]).toEqual([false, true])
    all.push(ask('b', 'b1'))
    await begun()
    expect(slots.isFree('c')).toBe(false)
    end('a1')
    await all[0]
    expect([slots.isFree('a'), slots.isFree('b'), slots.isFree('c')]).toEqual([true, false, true])
    end('b1')
    await Promise.all(all)
  })

  it('skip a query that was aborted before its turn', async () => {
    const { ask, begun, end } = watch(1)
    const first = ask('a', 'a1')
    const leaving = new AbortController()
    const left = ask('a', 'a2', leaving.signal)
    const last = ask('a', 'a3')
    leaving.abort(new Error('too late'))
    await expect(left).rejects.toThrow('too late')
    expect(await begun()).toEqual(['a1'])
    end('a1')
    expect(await begun()).toEqual(['a3'])
    end('a3')
    await Promise.all([first, last])
  })

  it('are closed once all are free', async () => {
    const { slots, ask, begun, end } = watch(2)
    const work = ask('a', 'a1')
    await begun()
    const closing = slots.close()
    end('a1')
    await Promise.all([work, closing])
    await expect(ask('a', 'a2')).rejects.toThrow('The store is closed')
  })
})
