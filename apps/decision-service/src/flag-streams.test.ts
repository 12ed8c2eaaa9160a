import { AppError } from '@waymark/contracts/app-error'
import type { ProjectConfig } from '@waymark/project-config'
import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { createFlagStreams } from './flag-streams.ts'

const SIGNAL = new AbortController().signal
const CLOCK = Date.parse('2026-11-25T12:00:00Z')
const LIMITS = { total: 3, perProject: 2, heartbeatMs: 15_000 }

/** Streams of projects whose flags have the given version, and a clock that the test sets. */
const setUp = () => {
  let time = 1_000_000
  const versions = new Map<string, number>()
  const configs = new Map<string, ProjectConfig>()
  const refused = new Set<string>()
  const caughtUp: number[] = []
  const metrics = new Registry()
  const configOf = (projectId: string): ProjectConfig => {
    const version = versions.get(projectId) ?? 1
    const name = `${projectId} ${version}`
    const decision = { id: 'd', status: 'active', version, definition: { schedule: null, rules: [] } }
    const config =
      configs.get(name) ??
      ({ decisions: { all: [decision], segments: { all: [] } } } as unknown as ProjectConfig)
    configs.set(name, config)
    return config
  }
  const streams = createFlagStreams({
    projectConfigs: { get: async (projectId) => configOf(projectId) },
    configChanges: {
      catchUp: async () => {
        caughtUp.push(time)
      },
    },
    limits: LIMITS,
    metrics,
    clock: () => CLOCK,
    steadyClock: () => time,
    random: () => 0.5,
  })
  const follow = async (projectId: string, lastEventId?: string, readerId = 'reader') => {
    const client = { text: '', writableLength: 0, ended: false, destroyed: false }
    const state = await streams.currentState(projectId)
    const stream = streams.follow(
      projectId,
      {
        write: (text) => {
          client.text += text
        },
        end: () => {
          client.ended = true
        },
        destroy: () => {
          client.destroyed = true
        },
        get writableLength() {
          return client.writableLength
        },
      },
      { state, lastEventId, reader: { id: readerId, isAllowed: async () => !refused.has(readerId) } },
    )
    return Object.assign(client, stream)
  }
  return {
    streams,
    follow,
    refused,
    caughtUp,
    metrics,
    look: () => streams.loop.run(SIGNAL),
    change: (projectId: string) => versions.set(projectId, (versions.get(projectId) ?? 1) + 1),
    idOf: async (projectId: string) => (await streams.currentState(projectId)).version,
    pass: (ms: number) => {
      time += ms
    },
  }
}
type World = ReturnType<typeof setUp>

/** The process a minute after its flags became known, so that new streams are sent nothing. */
const settled = async (...projects: string[]): Promise<World> => {
  const world = setUp()
  for (const project of projects) await world.streams.currentState(project)
  world.pass(60_000)
  return world
}
const eventsIn = (text: string) => text.match(/^data: .*$/gm) ?? []

describe('a stream of changed flags', () => {
  it('begins with the time to reconnect and the id of the current flags', async () => {
    const { follow, idOf } = await settled('p')
    expect((await follow('p')).text).toBe(`retry: 3000\nid: ${await idOf('p')}\n: connected\n\n`)
  })

  it('sends a change once, in the format of the protocol, and only to its project', async () => {
    const { follow, look, change, idOf } = await settled('p', 'q')
    const [mine, other] = [await follow('p'), await follow('q')]
    mine.text = other.text = ''
    await look()
    expect(mine.text).toBe('')
    change('p')
    await look()
    await look()
    const id = await idOf('p')
    const data = `{"type":"refetchEvaluation","etag":"\\"${id}\\"","lastModified":${CLOCK / 1000}}`
    expect(mine.text).toBe(`id: ${id}\nevent: message\ndata: ${data}\n\n`)
    expect(other.text).toBe('')
  })

  it('sends at once what a client missed while it was away', async () => {
    const { follow, change, idOf, look } = await settled('p')
    const before = await idOf('p')
    expect(eventsIn((await follow('p', before)).text)).toEqual([])
    change('p')
    const away = await follow('p', before)
    expect(eventsIn(away.text)).toHaveLength(1)
    expect(away.text).toContain(`id: ${await idOf('p')}\n`)
    expect(eventsIn((await follow('p', 'of another time')).text)).toHaveLength(1)
    await look()
    expect(eventsIn((await follow('p', await idOf('p'))).text)).toEqual([])
  })

  it.each([
    [59_999, 1],
    [60_000, 0],
  ])('notifies a new client of flags that are known for %i ms %i times', async (ms, times) => {
    const { follow, change, streams, pass } = await settled('p')
    change('p')
    await streams.currentState('p')
    pass(ms)
    expect(eventsIn((await follow('p')).text)).toHaveLength(times)
  })

  it('is kept alive while nothing changes', async () => {
    const { follow, look, pass } = await settled('p')
    const client = await follow('p')
    client.text = ''
    pass(LIMITS.heartbeatMs - 1)
    await look()
    expect(client.text).toBe('')
    pass(1)
    await look()
    await look()
    expect(client.text).toBe(': alive\n\n')
  })

  it('is cut off when the client accepts nothing between two comments', async () => {
    const { follow, look, pass } = await settled('p')
    const client = await follow('p')
    client.writableLength = 1
    pass(LIMITS.heartbeatMs - 1)
    await look()
    expect(client.destroyed).toBe(false)
    pass(1)
    await look()
    expect(client.destroyed).toBe(true)
  })

  it.each([
    [4_096, false],
    [4_097, true],
  ])('with %i bytes to accept at a change is cut off: %s', async (bytes, isCutOff) => {
    const { follow, look, change } = await settled('p')
    const client = await follow('p')
    client.writableLength = bytes
    client.text = ''
    change('p')
    await look()
    expect([client.destroyed, eventsIn(client.text).length]).toEqual(isCutOff ? [true, 0] : [false, 1])
  })

  it('ends when its reader has lost access, which is checked every three seconds', async () => {
    const { follow, look, pass, refused, change } = await settled('p')
    pass(3_000)
    await look()
    const [mine, other] = [await follow('p', undefined, 'mine'), await follow('p', undefined, 'other')]
    refused.add('mine')
    pass(2_999)
    await look()
    expect(mine.ended).toBe(false)
    pass(1)
    await look()
    expect([mine.ended, other.ended]).toEqual([true, false])
    mine.text = other.text = ''
    change('p')
    await look()
    expect([mine.text === '', other.text === '']).toEqual([true, false])
  })

  it('sends nothing more once the client has left or the process has ended it', async () => {
    const { follow, look, change } = await settled('p')
    const [left, ended, stays] = [await follow('p'), await follow('p'), await follow('p')]
    left.leave()
    ended.end()
    for (const client of [left, ended, stays]) client.text = ''
    change('p')
    await look()
    expect([left.text, ended.text, ended.ended]).toEqual(['', '', true])
    expect(eventsIn(stays.text)).toHaveLength(1)
  })
})

describe('the places for streams', () => {
  const refusal = (take: () => unknown): AppError => {
    try {
      take()
    } catch (error) {
      if (error instanceof AppError) return error
    }
    throw new Error('it was not refused')
  }

  it('are limited for a project, and free again when a stream has ended', () => {
    const { streams } = setUp()
    const take = () => streams.takePlace('p', () => {})
    const [leave] = [take(), take()]
    expect(refusal(take)).toMatchObject({
      code: 'rate_limited',
      message: expect.stringMatching(/ 2 streams .* FLAG_STREAMS_PER_PROJECT /),
      details: { retryAfterSeconds: 60 },
    })
    leave?.()
    expect(take()).toEqual(expect.any(Function))
  })

  it('are limited for the process, and counted by a metric', async () => {
    const { streams, metrics } = setUp()
    const leaves = ['p', 'q', 'r'].map((project) => streams.takePlace(project, () => {}))
    expect(refusal(() => streams.takePlace('s', () => {}))).toMatchObject({
      code: 'overloaded',
      message: expect.stringMatching(/^3 streams .* FLAG_STREAMS /),
      details: { retryAfterSeconds: 60 },
    })
    expect(await metrics.metrics()).toContain('waymark_flag_streams 3\n')
    for (const leave of leaves) leave()
    expect(await metrics.metrics()).toContain('waymark_flag_streams 0\n')
  })
})

it('catches up with other processes only for flags that it does not know', async () => {
  const { streams, caughtUp, idOf } = setUp()
  await streams.catchUp('p', `"${await idOf('p')}"`)
  expect(caughtUp).toHaveLength(0)
  await streams.catchUp('p', '"unknown"')
  expect(caughtUp).toHaveLength(1)
})
