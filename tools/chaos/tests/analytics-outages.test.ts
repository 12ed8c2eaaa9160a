import { setTimeout as sleep } from 'node:timers/promises'
import {
  docker,
  eventually,
  executeOnClickHouse,
  extent,
  freePort,
  pauseServer,
  requireServices,
  services,
  startClickHouse,
  startTcpProxy,
  type TcpProxy,
} from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectStoredOnce, report } from './audit.ts'
import { AWAY_MS, DEADLINE_MS, RECOVERY_MS } from './durations.ts'
import { createFleet, type Fleet, type Replica } from './fleet.ts'
import { slowestMs, startLoad } from './load.ts'
import { createSmallDisk } from './small-disk.ts'

/** The guaranteed query timeout plus a margin for a busy machine. */
const QUERY_DEADLINE_MS = 10_000 + 5_000

type Fault = () => Promise<() => Promise<unknown>>

describe.skipIf(!services)('the event store of a cluster under load', () => {
  let fleet: Fleet
  let gateway: Replica
  let management: Replica
  let clickhouse: Awaited<ReturnType<typeof startClickHouse>>
  let disk: Awaited<ReturnType<typeof createSmallDisk>>
  let proxy: TcpProxy

  beforeAll(async () => {
    disk = await createSmallDisk(extent(300, 1_000))
    // The port stays the same when the container restarts.
    clickhouse = await startClickHouse({ port: await freePort(), volume: disk.volume })
    proxy = await startTcpProxy(clickhouse.url)
    const clickhouseUrl = new URL(clickhouse.url)
    clickhouseUrl.port = `${proxy.port}`
    fleet = await createFleet({ ...requireServices(), clickhouseUrl: clickhouseUrl.href })
    ;({ gateway } = await fleet.startPipeline())
    management = await fleet.start('management-api')
  }, 240_000)
  afterAll(async () => {
    await fleet?.stop()
    await proxy?.stop()
    await clickhouse?.container.stop({ timeout: 0 })
    await disk?.remove()
  })

  const alterEvents = (change: string) =>
    executeOnClickHouse(
      fleet.env.CLICKHOUSE_URL,
      `ALTER TABLE ${fleet.env.CLICKHOUSE_DATABASE}.events ${change}`,
    )
  const withSetting = async (setting: string, value: number) => {
    await alterEvents(`MODIFY SETTING ${setting} = ${value}`)
    return () => alterEvents(`RESET SETTING ${setting}`)
  }
  const faults: Record<string, Fault> = {
    frozen: () => pauseServer(clickhouse.container),
    killed: async () => {
      const id = clickhouse.container.getId()
      await docker('kill', id)
      return () => docker('start', id)
    },
    'slow: 4 kB/s and 500 ms late': async () => {
      proxy.slowDown({ bytesPerSecond: 4_096, latencyMs: 500 })
      return () => proxy.restore()
    },
    'out of disk space': async () => {
      await disk.fill()
      return disk.empty
    },
    'read-only': () => withSetting('table_readonly', 1),
    'refusing inserts for too many parts': () => withSetting('parts_to_throw_insert', 1),
  }
  const names = extent(['frozen', 'slow: 4 kB/s and 500 ms late', 'read-only'], Object.keys(faults))

  const queries = () => ({
    'GET stats': () => management.request(`/api/projects/${fleet.projectId}/stats?metric=events`),
    'POST analytics/trends': () =>
      management.request(`/api/projects/${fleet.projectId}/analytics/trends`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({
          from: '2026-01-01T00:00:00Z',
          to: '2027-01-01T00:00:00Z',
          interval: 'month',
          series: [{ metric: 'events' }],
        }),
      }),
  })

  it.each(names)(
    '%s: events are accepted meanwhile, and none is lost or counted twice',
    async (name) => {
      const { load, stop } = startLoad({ name: `analytics-${names.indexOf(name)}`, send: gateway.request })
      const sync = startLoad({
        name: `analytics-sync-${names.indexOf(name)}`,
        send: (path, init) => gateway.request(`${path}?sync=1`, init),
        retryMs: 500,
      })
      await eventually(
        'events are accepted',
        () => load.acknowledged.size > 0 && sync.load.acknowledged.size > 0,
      )
      const end = await (faults[name] as Fault)()
      const acknowledgedBefore = load.acknowledged.size
      const answers: { query: string; status: number; body: string; tookMs: number }[] = []
      const askAll = async () => {
        for (const [query, run] of Object.entries(queries())) {
          const begunAt = performance.now()
          const response = await run()
          const body = await response.text()
          answers.push({ query, status: response.status, body, tookMs: performance.now() - begunAt })
        }
      }
      await Promise.all([sleep(AWAY_MS), askAll()])
      const acknowledgedMeanwhile = load.acknowledged.size - acknowledgedBefore
      await end()
      const loads = await Promise.all([stop(), sync.stop()])
      report(`the event store ${name}`, {
        'acknowledged meanwhile': acknowledgedMeanwhile,
        answers: answers.map(({ query, status }) => `${query} ${status}`).join(' and '),
      })
      for (const of of loads) await expectStoredOnce(fleet, of, `the event store ${name}`)
      const [asynchronous, synchronous] = loads
      expect(asynchronous?.attempts.filter(({ status }) => status !== 202)).toEqual([])
      expect(acknowledgedMeanwhile).toBeGreaterThan(0)
      for (const of of loads) expect(slowestMs(of)).toBeLessThan(DEADLINE_MS)
      const others = synchronous?.attempts.filter(
        ({ status }) => status !== 200 && status !== 202 && status !== 503,
      )
      expect(others).toEqual([])
      for (const { query, status, body, tookMs } of answers) {
        expect([query, 200, 503]).toContain(status)
        if (status === 503) expect(body).toContain('"retryAfterSeconds":')
        expect(tookMs).toBeLessThan(QUERY_DEADLINE_MS)
      }
      await eventually(
        'queries are answered again',
        async () => (await Promise.all(Object.values(queries()).map((run) => run()))).every(({ ok }) => ok),
        RECOVERY_MS,
      )
      const { rows } = await fleet.db.pool.query('SELECT 1 FROM ingest.dead_letters')
      expect(rows).toEqual([])
    },
    300_000 + AWAY_MS,
  )

  const runOnClickHouse = (statement: string) => executeOnClickHouse(fleet.env.CLICKHOUSE_URL, statement)
  const store = async (eventId: string) => {
    const body = JSON.stringify({ eventName: 'page_view', eventId, visitorId: 'v' })
    const headers = { 'Content-Type': 'application/json' }
    return (await gateway.request('/api/v1/t?sync=1', { method: 'POST', headers, body })).status
  }
  /** Empties files of the column store, as a merge on a full disk does. */
  const emptyFiles = async (pattern: string) => {
    const empty = `find /var/lib/clickhouse/store -path '${pattern}' -exec truncate --size 0 {} +`
    await docker('exec', clickhouse.container.getId(), 'sh', '-c', empty)
    for (const cache of ['MARK', 'INDEX MARK', 'UNCOMPRESSED'])
      await runOnClickHouse(`SYSTEM DROP ${cache} CACHE`)
  }
  const expectAnswers = async () => {
    for (const path of ['events', 'stats?metric=events'])
      expect((await management.request(`/api/projects/${fleet.projectId}/${path}`)).status).toBe(200)
  }

  it('answers although a merge that ran out of disk space left an empty skip index', async () => {
    const events = `${fleet.env.CLICKHOUSE_DATABASE}.events`
    await runOnClickHouse(`SYSTEM STOP MERGES ${events}`)
    await eventually('an event is stored', async () => (await store('of-a-damaged-part')) === 200)
    await emptyFiles('*/skp_idx*')
    const settings = 'final = 1, use_skip_indexes_if_final = 1'
    const read = `SELECT count() FROM ${events} WHERE received_at > '2020-01-01' SETTINGS ${settings}`
    await expect(runOnClickHouse(read)).rejects.toThrow('Cannot read all marks')
    // The repeat reads the name of the stored event.
    expect(await store('of-a-damaged-part')).toBe(200)
    await expectAnswers()
    await runOnClickHouse(`SYSTEM START MERGES ${events}`)
  }, 120_000)

  it('serves the parts that a merge was made of when the disk was full at its end', async () => {
    const events = `${fleet.env.CLICKHOUSE_DATABASE}.events`
    const read = `SELECT count(), sum(length(properties)), sum(length(details)) FROM ${events} FINAL`
    for (const id of ['merged-1', 'merged-2'])
      await eventually('an event is stored', async () => (await store(id)) === 200)
    await runOnClickHouse(`OPTIMIZE TABLE ${events} FINAL`)
    const before = await runOnClickHouse(read)
    const part = `SELECT name FROM system.parts WHERE active AND table = 'events'
      AND database = '${fleet.env.CLICKHOUSE_DATABASE}' ORDER BY rows DESC LIMIT 1`
    await emptyFiles(`*/${(await runOnClickHouse(part)).trim()}/*.cmrk*`)
    await expect(runOnClickHouse(read)).rejects.toThrow('Empty marks file')
    await expectAnswers()
    expect(await runOnClickHouse(read)).toBe(before)
    expect(await store('merged-1')).toBe(200)
    // As after the end of a process that was about to attach it.
    await runOnClickHouse(`DETACH TABLE ${events} SYNC`)
    await expectAnswers()
  }, 120_000)
})
