import type { LinkClick } from '@waymark/contracts/records/change-records'
import { describeUserAgent } from '@waymark/domain/enrichment'
import { BusUnavailableError } from '@waymark/event-bus'
import type { IngestQueue } from '@waymark/pipeline'
import { createMemoryLog, eventually } from '@waymark/testing/unit'
import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { type Click, createClickRecorder } from './click-recorder.ts'

const setUp = ({ maxWaiting = 1_000 } = {}) => {
  const world = {
    away: false,
    taken: [] as LinkClick[],
    keys: [] as string[],
    tried: [] as string[],
    batches: 0,
  }
  const metrics = new Registry()
  const enqueueSerialized: IngestQueue['enqueueSerialized'] = async (_topic, records) => {
    world.tried.push(...new Set(records.map(({ key }) => key)))
    if (world.away) throw new BusUnavailableError('neither the bus nor the spool answers')
    world.batches++
    world.keys.push(...records.map(({ key }) => key))
    world.taken.push(...records.map(({ value }) => JSON.parse(value) as LinkClick))
  }
  const recorder = createClickRecorder({
    queue: { enqueueSerialized },
    beforeHandOver: async () => {},
    describeUserAgent,
    countryOf: () => 'DE',
    hashVisitor: (_at, _projectId, ip) => `hash of ${ip}`,
    log: createMemoryLog(),
    metrics,
    maxWaiting,
  })
  const stopping = new AbortController()
  const running = recorder.run(stopping.signal)
  const stop = async (): Promise<void> => {
    stopping.abort()
    await running
  }
  const droppedOf = async () =>
    (await metrics.getSingleMetric('waymark_link_clicks_dropped_total')?.get())?.values[0]?.value
  return { world, recorder, stop, droppedOf }
}
const aClick = (n: number, fields: Partial<Click> = {}): Click => ({
  id: `${n}`,
  projectId: 'project',
  linkId: 'link',
  code: 'code',
  at: 0,
  ip: '198.51.100.7',
  ipStorage: 'truncate',
  userAgent: null,
  referrer: null,
  prefetch: false,
  variant: undefined,
  ...fields,
})

it('publishes clicks in batches, and the rest when it stops', async () => {
  const { world, recorder, stop } = setUp({ maxWaiting: 5_000 })
  for (let n = 0; n < 2_500; n++) recorder.record(aClick(n))
  await stop()
  expect(world.taken.map(({ id }) => Number(id))).toEqual(Array.from({ length: 2_500 }, (_, n) => n))
  expect(world.batches).toBe(3)
})

it('uses one key per batch', async () => {
  const { world, recorder, stop } = setUp({ maxWaiting: 5_000 })
  for (let n = 0; n < 2_000; n++) recorder.record(aClick(n, { linkId: `link ${n % 2}` }))
  await stop()
  expect(new Set(world.keys.slice(0, 1_000)).size).toBe(1)
  expect(new Set(world.keys.slice(1_000)).size).toBe(1)
  expect(new Set(world.keys).size).toBe(2)
})

it('keeps unpublished clicks up to its limit, and counts dropped ones', async () => {
  const { world, recorder, stop, droppedOf } = setUp({ maxWaiting: 10 })
  world.away = true
  for (let n = 0; n < 11; n++) recorder.record(aClick(n))
  expect(await droppedOf()).toBe(1)
  world.away = false
  await eventually('they are handed over', () => world.taken.length === 10)
  await stop()
  expect(world.taken.at(-1)?.id).toBe('9')
})

it('repeats a batch with its key, so that it goes to the same partition', async () => {
  const { world, recorder, stop } = setUp()
  world.away = true
  recorder.record(aClick(1))
  await eventually('it was tried', () => world.tried.length === 1)
  world.away = false
  await eventually('it is handed over', () => world.taken.length === 1)
  recorder.record(aClick(2))
  await stop()
  const [first, again, next] = world.tried
  expect(again).toBe(first)
  expect(next).not.toBe(first)
})

it.each([
  ['truncate', '198.51.100.0'],
  ['drop', null],
  ['keep', '198.51.100.7'],
] as const)("stores the address by the project's setting: %s", async (ipStorage, ip) => {
  const { world, recorder, stop } = setUp()
  recorder.record(aClick(1, { ipStorage, userAgent: 'Googlebot/2.1', referrer: 'not an address' }))
  await stop()
  expect(world.taken[0]).toMatchObject({
    ip,
    country: 'DE',
    visitor: 'hash of 198.51.100.7',
    bot: true,
    referrer: null,
    clickedAt: '1970-01-01T00:00:00.000Z',
  })
})
