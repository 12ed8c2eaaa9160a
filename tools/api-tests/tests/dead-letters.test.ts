import { listDeadLetters, replayDeadLetter } from '@waymark/contracts/http/dead-letters'
import { listEvents } from '@waymark/contracts/http/events'
import { eventually, services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startWorld, type World } from './openapi/world.ts'

type Page = { data: { [field: string]: unknown }[] }

describe.skipIf(!services)('a dead letter', () => {
  let world: World
  beforeAll(async () => {
    world = await startWorld(1_000_000)
  })
  afterAll(() => world?.stop())

  it('is replayed as its event once, even if the replay is repeated', async () => {
    const id = await world.deadLetter('fit')
    const stored = async () => ((await world.call(listEvents)).body as Page).data
    expect(await stored()).toEqual([])

    for (const _ of [1, 2]) expect((await world.call(replayDeadLetter, { params: { id } })).status).toBe(202)
    const other = await world.deadLetter('fit')
    await world.call(replayDeadLetter, { params: { id: other } })

    // The third one was sent after the two. Once it is stored, they have been handled.
    const events = await eventually('both are stored', async () => {
      const found = await stored()
      return found.length >= 2 && found
    })
    expect(events.map(({ eventId }) => eventId).sort()).toEqual(['dead letter 1', 'dead letter 2'])
    const letters = ((await world.call(listDeadLetters)).body as Page).data
    expect(letters).toMatchObject([{ replayedAt: expect.any(String) }, { replayedAt: expect.any(String) }])
  })
})
