import { setTimeout as sleep } from 'node:timers/promises'
import { eventually, extent, services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { countLoad, expectStoredOnce, report } from './audit.ts'
import { createFleet, type Fleet } from './fleet.ts'
import { openKafka } from './kafka-admin.ts'
import { startLoad } from './load.ts'

describe.skipIf(!services)('consumers', () => {
  let fleet: Fleet
  let pipeline: Awaited<ReturnType<Fleet['startPipeline']>>
  beforeAll(async () => {
    fleet = await createFleet(undefined, { KAFKA_PARTITIONS: '6' })
    pipeline = await fleet.startPipeline()
  })
  afterAll(() => fleet?.stop())

  it('are scaled to three and back to one under load without loss', async () => {
    const { stop } = startLoad({ name: 'scaled', send: pipeline.gateway.request })
    const exitCodes: (number | null)[] = []
    for (let round = 0; round < extent(1, 4); round++) {
      const more = await Promise.all(
        (['enrichment-consumer', 'persistence-consumer'] as const).flatMap((app) => [
          fleet.start(app),
          fleet.start(app),
        ]),
      )
      await sleep(extent(3_000, 10_000))
      for (const replica of more) exitCodes.push((await replica.terminate()).exitCode)
      await sleep(1_000)
    }
    await expectStoredOnce(fleet, await stop(), `consumers scaled 1 → 3 → 1, exit codes ${exitCodes}`)
    expect(new Set(exitCodes)).toEqual(new Set([0]))
  }, 300_000)

  it('read all records again, and store each once', async () => {
    const { stop } = startLoad({ name: 'again', send: pipeline.gateway.request, batch: 5 })
    await sleep(extent(3_000, 15_000))
    const load = await stop()
    await expectStoredOnce(fleet, load, 'before everything is delivered again')
    const kafka = await openKafka(fleet)
    await eventually(
      'all is committed',
      async () => (await kafka.lag('enrichment', 'ingest.records.v1')) === 0,
    )
    await pipeline.enrichment.terminate()
    await pipeline.persistence.terminate()
    await kafka.rewind('enrichment', 'ingest.records.v1')
    await kafka.rewind('persistence', 'events.enriched.v1')
    const again = await kafka.lag('enrichment', 'ingest.records.v1')
    expect(again).toBeGreaterThanOrEqual(load.sent.length)
    await pipeline.enrichment.restart()
    await pipeline.persistence.restart()
    const isDone = async () =>
      (await kafka.lag('enrichment', 'ingest.records.v1')) === 0 &&
      (await kafka.lag('persistence', 'events.enriched.v1')) === 0
    await eventually('all of it is handled again', isDone, 120_000)
    report('offsets set back to the beginning', { 'records delivered again': again })
    await expectStoredOnce(fleet, load, 'after everything was delivered again')
    await kafka.close()
  }, 300_000)

  it('store once what a producer sends again after it lost the acknowledgement', async () => {
    const { stop } = startLoad({ name: 'resent', send: pipeline.gateway.request })
    await sleep(2_000)
    const load = await stop()
    const kafka = await openKafka(fleet)
    const records = await kafka.readAll('ingest.records.v1')
    await kafka.produce('ingest.records.v1', records)
    await kafka.produce('ingest.records.v1', records)
    await eventually(
      'all of it is handled',
      async () => (await kafka.lag('enrichment', 'ingest.records.v1')) === 0,
      120_000,
    )
    await kafka.close()
    await expectStoredOnce(fleet, load, `${records.length} records produced twice more`)
    const { claims } = await countLoad(fleet, load)
    expect(claims.stored).toBe(load.sent.length)
  }, 300_000)
})
