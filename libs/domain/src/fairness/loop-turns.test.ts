import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { runAsWork } from './current-work.ts'
import { LoopTurns } from './loop-turns.ts'

describe('turns of the event loop', () => {
  // Each test begins in a turn of its own.
  beforeEach(() => new Promise((resolve) => void setImmediate(resolve)))

  it('end after ten milliseconds, and start again', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const turns = new LoopTurns()
    expect(turns.isOver()).toBe(false)
    vi.advanceTimersByTime(9)
    expect(turns.isOver()).toBe(false)
    vi.advanceTimersByTime(1)
    expect(turns.isOver()).toBe(true)
    await turns.next()
    expect(turns.isOver()).toBe(false)
  })

  it('have one time for all of their work, and none for work that comes after it', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const [long, short, late] = [new LoopTurns(), new LoopTurns(), new LoopTurns()]
    expect(long.isOver()).toBe(false)
    vi.advanceTimersByTime(9)
    expect(short.isOver()).toBe(false)
    vi.advanceTimersByTime(1)
    expect(late.isOver()).toBe(true)
  })

  it('do not let short work wait because long work does', async () => {
    const waits = [new LoopTurns().next(), new LoopTurns().next(), new LoopTurns().next()]
    await new Promise((resolve) => setImmediate(resolve))
    expect(new LoopTurns().isOver()).toBe(false)
    await Promise.all(waits)
  })

  it('belong to one task at a time', async () => {
    const order: string[] = []
    const work = async (name: string) => {
      const turns = new LoopTurns()
      for (let n = 0; n < 3; n++) {
        await turns.next()
        order.push(name)
      }
    }
    const rounds = async () => {
      for (let n = 0; n < 4; n++) {
        await new Promise((resolve) => setImmediate(resolve))
        order.push('loop')
      }
    }
    await Promise.all([work('a'), work('b'), rounds()])
    expect(order.join(' ')).toMatch(/^(?:(?:loop )?[ab] ?(?:loop ?)?)+$/)
    expect(order.filter((name) => name === 'a')).toHaveLength(3)
    const [, second, third] = order.join('').split('loop')
    expect([second?.length, third?.length]).toEqual([1, 1])
  })

  it('are taken by tenants in turn, however much one of them has to do', async () => {
    const order: string[] = []
    const work = (tenantId: string) =>
      runAsWork({ tenantId, projectId: '' }, async () => {
        await new LoopTurns().next()
        order.push(tenantId)
      })
    await Promise.all([...Array.from({ length: 30 }, () => work('a')), work('b')])
    expect(order.indexOf('b')).toBeLessThan(3)
  })
})
