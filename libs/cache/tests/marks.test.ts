import { randomBytes } from 'node:crypto'
import {
  CLOSED_PORT,
  createMemoryLog,
  eventually,
  requireServices,
  services,
  startTcpProxy,
} from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createMemoryMarks, createRedisMarks, type SharedMarks } from '../src/marks.ts'

const describeMarks = (open: () => SharedMarks): void => {
  let marks: SharedMarks
  beforeAll(async () => {
    marks = open()
    await eventually('the marks can be read', async () => (await marks.read(['probe'])) !== undefined)
  })
  afterAll(() => marks.close())

  it('are read together, in the order of their keys', async () => {
    await marks.set(['a', 'b'], 'one', 3_600_000)
    await marks.set(['b'], 'two', 3_600_000)
    expect(await marks.read(['b', 'never set', 'a'])).toEqual(['two', undefined, 'one'])
    expect(await marks.read([])).toEqual([])
  })

  it('expire after their TTL', async () => {
    await marks.set(['brief'], 'here', 50)
    await eventually('it is gone', async () => (await marks.read(['brief']))?.[0] === undefined)
  })
}

describe('marks in memory', () => describeMarks(() => createMemoryMarks()))

describe.skipIf(!services)('marks in Redis', () => {
  const keyPrefix = `t${randomBytes(6).toString('hex')}:`
  // A busy machine stops for longer than the default timeout.
  const options = () => ({ url: requireServices().redisUrl, keyPrefix, commandTimeoutMs: 10_000 })
  describeMarks(() => createRedisMarks(options(), createMemoryLog()))

  it('follow as soon as Redis recovers from a hang', async () => {
    const url = new URL(requireServices().redisUrl)
    const proxy = await startTcpProxy(url.href)
    const direct = createRedisMarks({ url: url.href, keyPrefix }, createMemoryLog())
    url.port = `${proxy.port}`
    const marks = createRedisMarks({ url: url.href, keyPrefix }, createMemoryLog())
    const readOf = async (from: SharedMarks, key: string) => (await from.read([key]))?.[0]
    await eventually('it answers', async () => {
      await marks.set(['probe'], 'x', 1_000)
      return (await readOf(marks, 'probe')) === 'x' && (await direct.read(['x'])) !== undefined
    })
    proxy.freeze()
    await marks.set(['late'], 'set while it was unavailable', 60_000)
    expect(await marks.read(['late'])).toBeUndefined()
    await proxy.restore()
    const arrived = async () => (await readOf(direct, 'late')) === 'set while it was unavailable'
    await eventually('the mark is there', arrived)
    await Promise.all([marks.close(), direct.close(), proxy.stop()])
  })
})

describe('marks in Redis during an outage', () => {
  it('cannot be read, and can be set', async () => {
    const marks = createRedisMarks({ url: `redis://localhost:${CLOSED_PORT}` }, createMemoryLog())
    await marks.set(['a'], 'x', 1_000)
    expect(await marks.read(['a'])).toBeUndefined()
    await marks.close()
  })
})
