import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  docker,
  eventually,
  extent,
  freePort,
  requireServices,
  services,
  startKafka,
  startPostgres,
} from '@waymark/testing'
import { afterAll, describe, expect, it } from 'vitest'
import { expectStoredOnce, report } from './audit.ts'
import { DEADLINE_MS, RECOVERY_MS } from './durations.ts'
import { createFleet } from './fleet.ts'
import { refusals, slowestMs, startLoad } from './load.ts'
import { createSmallDisk } from './small-disk.ts'

const FULL_MS = extent(8_000, 20_000)

describe.skipIf(!services)('a disk that is full', () => {
  const stops: (() => Promise<unknown>)[] = []
  afterAll(async () => {
    for (const stop of stops.toReversed()) await stop()
  })

  // PostgreSQL that panics, also in its recovery, and a broker whose only disk fails exit: an orchestrator starts them again.
  const startAgain = (container: { getId: () => string }) =>
    docker('update', '--restart', 'unless-stopped', container.getId())

  const makeDisk = async (megabytes: number) => {
    const disk = await createSmallDisk(megabytes)
    stops.push(disk.remove)
    return disk
  }

  it('of PostgreSQL: 202 or 503, and nothing is lost', async () => {
    // Larger than what the load and the write-ahead log take, or the disk remains full without the filler.
    const disk = await makeDisk(2_000)
    // The port stays the same when the container restarts.
    const postgres = await startPostgres({ port: await freePort(), volume: disk.volume })
    stops.push(() => postgres.container.stop({ timeout: 0 }))
    await startAgain(postgres.container)
    const fleet = await createFleet({ ...requireServices(), postgresUrl: postgres.url })
    stops.push(() => fleet.stop())
    const { gateway } = await fleet.startPipeline()
    const { stop } = startLoad({
      name: 'full-postgres',
      send: gateway.request,
      batch: 20,
      fields: () => ({ properties: { total: 5, text: randomBytes(500).toString('hex') } }),
    })
    await sleep(1_000)
    await disk.fill()
    await sleep(FULL_MS)
    const sync = await gateway.request('/api/v1/t?sync=1', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ events: Array.from({ length: 100 }, () => ({ eventName: 'page_view' })) }),
    })
    const answered = `${sync.status} ${await sync.text()}`
    await disk.empty()
    const load = await stop()
    report('the disk of PostgreSQL is full', { 'a synchronous request got': answered.slice(0, 60) })
    await expectStoredOnce(fleet, load, `the disk of PostgreSQL full for ${FULL_MS / 1000} s`)
    expect(slowestMs(load)).toBeLessThan(DEADLINE_MS)
    expect(answered).toMatch(/^200|^503 .*STORE_UNAVAILABLE/)
    const { rows } = await fleet.db.pool.query('SELECT 1 FROM ingest.dead_letters')
    expect(rows).toEqual([])
  }, 300_000)

  it('of Kafka: 202 by the spool or 503, and nothing is lost', async () => {
    const disk = await makeDisk(200)
    // The port stays the same when the container restarts.
    const kafka = await startKafka({ port: await freePort(), volume: disk.volume })
    stops.push(() => kafka.container.stop({ timeout: 0 }))
    await startAgain(kafka.container)
    const fleet = await createFleet(
      { ...requireServices(), kafkaBrokers: kafka.brokers },
      { KAFKA_PARTITIONS: '3' },
    )
    stops.push(() => fleet.stop())
    const { gateway } = await fleet.startPipeline()
    const { stop } = startLoad({ name: 'full-kafka', send: gateway.request, retryMs: 500, batch: 5 })
    await sleep(1_000)
    await disk.fill()
    await sleep(FULL_MS)
    await disk.empty()
    await eventually(
      'conversions are taken again',
      async () => {
        const response = await gateway.request('/api/v1/t', {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({ eventName: 'ordered', visitorId: 'v', eventId: 'afterwards' }),
        })
        return response.status === 202
      },
      RECOVERY_MS,
    )
    const load = await stop()
    await expectStoredOnce(fleet, load, `the disk of Kafka full for ${FULL_MS / 1000} s`)
    expect(slowestMs(load)).toBeLessThan(DEADLINE_MS)
    expect(refusals(load)).toBeGreaterThan(0)
  }, 300_000)
})
