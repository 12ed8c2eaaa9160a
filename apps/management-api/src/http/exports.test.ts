import { setImmediate as nextTurn } from 'node:timers/promises'
import { runAsWork } from '@waymark/domain/fairness'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createExports } from './exports.ts'
import type { ProjectRequest } from './project-route.ts'

/** Exports whose parts the test produces. Projects are named `<tenant>-<number>`. */
const setUp = () => {
  const wrap = createExports()
  const producing = new Map<string, () => void>()
  const released: string[] = []
  async function* parts(projectId: string) {
    try {
      for (let n = 1; n <= 2; n++) {
        await new Promise<void>((resolve) => producing.set(projectId, resolve))
        yield `${projectId} part ${n}`
      }
    } finally {
      released.push(projectId)
    }
  }
  const begin = async (projectId: string) => {
    const { stream } = await runAsWork({ tenantId: projectId.split('-')[0] ?? '', projectId }, () =>
      wrap(async () => ({ stream: parts(projectId) }))({
        projectId,
        request: { onEnd: () => {}, message: { socket: {} } },
      } as unknown as ProjectRequest),
    )
    return stream as AsyncGenerator<string>
  }
  /** The projects whose part is being produced, in the order of their turns. */
  const atWork = async () => {
    await nextTurn()
    return [...producing.keys()]
  }
  const finish = (projectId: string) => {
    producing.get(projectId)?.()
    producing.delete(projectId)
  }
  return { begin, atWork, finish, released }
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout'] }))
afterEach(() => void vi.useRealTimers())

describe('exports', () => {
  it('produce their parts in turns: two at once, one of a tenant', async () => {
    const { begin, atWork, finish } = setUp()
    const streams = await Promise.all(['a-1', 'a-2', 'b-1', 'c-1'].map(begin))
    const parts = streams.map(async (stream) => (await stream.next()).value)
    expect(await atWork()).toEqual(['a-1', 'b-1'])
    finish('a-1')
    expect(await atWork()).toEqual(['b-1', 'a-2'])
    finish('b-1')
    expect(await atWork()).toEqual(['a-2', 'c-1'])
    for (const projectId of ['a-2', 'c-1']) finish(projectId)
    expect(await Promise.all(parts)).toEqual(['a-1 part 1', 'a-2 part 1', 'b-1 part 1', 'c-1 part 1'])
  })

  it('take no turn while they wait for their client', async () => {
    const { begin, atWork, finish } = setUp()
    for (const projectId of ['a-1', 'b-1']) {
      const part = (await begin(projectId)).next()
      await atWork()
      finish(projectId)
      await part
    }
    const other = (await begin('c-1')).next()
    expect(await atWork()).toEqual(['c-1'])
    finish('c-1')
    expect(await other).toEqual({ done: false, value: 'c-1 part 1' })
  })

  it('leave twice the time to others that a part took', async () => {
    const { begin, atWork, finish } = setUp()
    const stream = await begin('a-1')
    const first = stream.next()
    await atWork()
    vi.advanceTimersByTime(30)
    finish('a-1')
    expect((await first).value).toBe('a-1 part 1')
    const second = stream.next()
    expect(await atWork()).toEqual([])
    vi.advanceTimersByTime(59)
    expect(await atWork()).toEqual([])
    vi.advanceTimersByTime(1)
    expect(await atWork()).toEqual(['a-1'])
    finish('a-1')
    expect((await second).value).toBe('a-1 part 2')
  })

  it('release what they read from when their client has left', async () => {
    const { begin, atWork, finish, released } = setUp()
    const stream = await begin('a-1')
    const part = stream.next()
    await atWork()
    finish('a-1')
    await part
    await stream.return(undefined)
    expect(released).toEqual(['a-1'])
  })
})
