import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { runAsWork, type WorkOwner } from './current-work.ts'
import { createFairQueue, type FairQueue, type FairQueueOptions } from './fair-queue.ts'

const owner = (tenantId: string, projectId = `${tenantId}-1`): WorkOwner => ({ tenantId, projectId })

/** Runs named work in a queue. The test ends each piece. */
const watch = <Name extends string>(queue: FairQueue<Name>) => {
  const started: string[] = []
  const ends = new Map<string, () => void>()
  const run = (
    name: string,
    of: WorkOwner | undefined,
    options: { lane?: Name; signal?: AbortSignal } = {},
  ) =>
    queue.run(
      of,
      async () => {
        started.push(name)
        await new Promise<void>((resolve) => ends.set(name, resolve))
      },
      options,
    )
  return {
    run,
    /** The names that started since the last call. */
    started: async () => {
      await nextTurn()
      return started.splice(0)
    },
    end: (name: string) => ends.get(name)?.(),
    /** Ends all that run, one after another, and returns the names in the order of their starts. */
    drain: async () => {
      const order: string[] = []
      for (let name = started.shift(); name !== undefined; name = started.shift()) {
        order.push(name)
        ends.get(name)?.()
        await nextTurn()
      }
      return order
    },
  }
}

const open = (options: Partial<FairQueueOptions> = {}) => {
  const queue = createFairQueue({ what: 'checks', capacity: 1, ...options })
  return { queue, ...watch(queue) }
}

describe('a fair queue', () => {
  it('starts the work of another tenant next, however much one tenant has queued', async () => {
    const { run, started, end, drain } = open({ maxWaiting: 10_000 })
    const all = Array.from({ length: 1_000 }, (_, n) => run(`a${n}`, owner('a')))
    all.push(run('b0', owner('b')))
    expect(await started()).toEqual(['a0'])
    end('a0')
    expect(await started()).toEqual(['a1'])
    end('a1')
    expect(await started()).toEqual(['b0'])
    end('b0')
    await nextTurn()
    expect(await drain()).toHaveLength(998)
    await Promise.all(all)
  })

  it('gives projects of a tenant turns, which count as one turn among tenants', async () => {
    const { run, drain } = open()
    const all = [
      ...['a1x', 'a1y'].map((name) => run(name, owner('a', 'a1'))),
      ...['a2x', 'a2y'].map((name) => run(name, owner('a', 'a2'))),
      ...['b1x', 'b1y'].map((name) => run(name, owner('b', 'b1'))),
    ]
    await nextTurn()
    expect(await drain()).toEqual(['a1x', 'a1y', 'b1x', 'a2x', 'b1y', 'a2y'])
    await Promise.all(all)
  })

  it('never lets a tenant or a project hold more than its share', async () => {
    const { run, drain } = open({
      capacity: 6,
      perTenant: 4,
      lanes: { default: { perProject: 2 } },
    })
    const all = ['a1', 'a2', 'a3'].flatMap((project) =>
      [1, 2, 3].map((n) => run(`${project}.${n}`, owner('a', project))),
    )
    all.push(run('b1', owner('b')))
    await nextTurn()
    const order = await drain()
    expect(order.slice(0, 5)).toEqual(['a1.1', 'a1.2', 'a2.1', 'a2.2', 'b1'])
    expect(order).toHaveLength(10)
    await Promise.all(all)
  })

  it('keeps the reserve of a lane from all others', async () => {
    const queue = createFairQueue({
      what: 'connections',
      capacity: 4,
      lanes: { signIn: { reserved: 1 }, ingestion: { reserved: 1 }, other: {} },
    })
    const { run, started, end } = watch(queue)
    const names = ['o1', 'o2', 'o3', 'o4']
    for (const name of names) run(name, owner(name), { lane: 'other' }).catch(() => {})
    run('process', undefined, { lane: 'other' }).catch(() => {})
    expect(await started()).toEqual(['o1', 'o2'])
    run('s1', owner('s'), { lane: 'signIn' }).catch(() => {})
    run('i1', owner('i'), { lane: 'ingestion' }).catch(() => {})
    expect(await started()).toEqual(['s1', 'i1'])
    end('s1')
    expect(await started()).toEqual([])
    end('o1')
    expect(await started()).toEqual(['o3'])
  })

  it('bounds a lane', async () => {
    const queue = createFairQueue({ what: 'x', capacity: 4, lanes: { read: { max: 1 }, write: {} } })
    const { run, started } = watch(queue)
    for (const name of ['r1', 'r2']) run(name, owner(name), { lane: 'read' }).catch(() => {})
    run('w1', owner('r1'), { lane: 'write' }).catch(() => {})
    expect(await started()).toEqual(['r1', 'w1'])
  })

  it('refuses a tenant that has too much waiting with 429, and all when it is full with 503', async () => {
    const { run, drain } = open({ maxWaiting: 3, maxWaitingPerTenant: 2, retryAfterSeconds: 7 })
    const others = [run('a1', owner('a')), run('a2', owner('a')), run('a3', owner('a'))]
    await expect(run('a4', owner('a'))).rejects.toMatchObject({
      code: 'rate_limited',
      message:
        '2 checks of this tenant wait, as many as one tenant may have waiting; repeat this in 7 seconds',
      details: { retryAfterSeconds: 7 },
    })
    others.push(run('b1', owner('b')))
    await expect(run('c1', owner('c'))).rejects.toMatchObject({
      code: 'overloaded',
      message: '1 checks are running, as many as one process may run; repeat this in 7 seconds',
      details: { retryAfterSeconds: 7 },
    })
    expect(await drain()).toHaveLength(4)
    await Promise.all(others)
  })

  it('refuses work that waited too long: 429 behind its own work, 503 behind that of others', async () => {
    const { run } = open({ capacity: 2, perTenant: 1, maxWaitMs: 1 })
    run('a1', owner('a')).catch(() => {})
    run('b1', owner('b')).catch(() => {})
    await expect(run('a2', owner('a'))).rejects.toMatchObject({ code: 'rate_limited' })
    await expect(run('c1', owner('c'))).rejects.toMatchObject({ code: 'overloaded' })
  })

  it('lets the work of a request wait as long as that says', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const { run, started, end } = open({ maxWaitMs: 4_000 })
    run('a1', owner('a')).catch(() => {})
    const ended = runAsWork(owner('a'), () => run('a2', owner('a')), 60_000)
    const refused = runAsWork(owner('a'), () => run('a3', owner('a')), 59_999).catch((error) => error)
    await vi.advanceTimersByTimeAsync(59_999)
    expect(await refused).toMatchObject({ code: 'rate_limited' })
    expect(await started()).toEqual(['a1'])
    end('a1')
    expect(await started()).toEqual(['a2'])
    end('a2')
    await ended
  })

  it('skips work that was aborted before its turn', async () => {
    const { run, started, end } = open()
    run('a1', owner('a')).catch(() => {})
    const leaving = new AbortController()
    const left = run('a2', owner('a'), { signal: leaving.signal })
    run('a3', owner('a')).catch(() => {})
    leaving.abort(new Error('The client has left'))
    await expect(left).rejects.toThrow('The client has left')
    expect(await started()).toEqual(['a1'])
    end('a1')
    expect(await started()).toEqual(['a3'])
  })

  it('takes a unit at once or not at all', async () => {
    const { queue } = open({ capacity: 2, perTenant: 1 })
    const release = queue.tryAcquire(owner('a'))
    expect(release).toBeDefined()
    expect(queue.tryAcquire(owner('a'))).toBeUndefined()
    release?.()
    release?.()
    expect(queue.tryAcquire(owner('a'))).toBeDefined()
    expect(queue.tryAcquire(owner('b'))).toBeDefined()
    expect(queue.tryAcquire(owner('c'))).toBeUndefined()
  })

  it('takes units back from the tenant that holds most, for one that holds fewer', () => {
    const { queue } = open({ capacity: 6, maxWaiting: 0 })
    const reclaimed: string[] = []
    const hold = (tenantId: string, n: number) =>
      queue.acquireNow(owner(tenantId), { onReclaim: () => reclaimed.push(`${tenantId}${n}`) })
    for (const n of [1, 2, 3, 4]) hold('a', n)
    for (const n of [1, 2]) hold('b', n)
    hold('c', 1)
    expect(reclaimed).toEqual(['a4'])
    hold('c', 2)
    expect(reclaimed).toEqual(['a4', 'a3'])
    expect(() => hold('c', 3)).toThrow('6 checks are running, as many as one process may run')
    expect(reclaimed).toEqual(['a4', 'a3'])
  })

  it('bounds the wait of patient work neither in time nor in length', async () => {
    const { queue, run, started, end } = open({ maxWaiting: 0, maxWaitMs: 0 })
    run('a1', owner('a'), {}).catch(() => {})
    const patient = queue.acquire(owner('a'), { patient: true })
    await expect(queue.acquire(owner('b'))).rejects.toMatchObject({ code: 'overloaded' })
    expect(await started()).toEqual(['a1'])
    end('a1')
    expect(await patient).toBeTypeOf('function')
  })

  it('gives back the unit of work that failed', async () => {
    const { queue } = open()
    const failing = queue.run(owner('a'), () => Promise.reject(new Error('failed')))
    await expect(failing).rejects.toThrow('failed')
    expect(queue.tryAcquire(owner('a'))).toBeDefined()
  })

  it('drains when it is closed, and refuses later work', async () => {
    const { queue, run, drain } = open()
    const all = [run('a1', owner('a')), run('a2', owner('a'))]
    await nextTurn()
    let isClosed = false
    const closing = queue.close().then(() => {
      isClosed = true
    })
    await expect(run('a3', owner('a'))).rejects.toMatchObject({ code: 'overloaded' })
    await nextTurn()
    expect(isClosed).toBe(false)
    expect(await drain()).toEqual(['a1', 'a2'])
    await Promise.all([...all, closing])
  })
})
