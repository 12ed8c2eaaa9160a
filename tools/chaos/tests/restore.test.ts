import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { consumerGroups } from '@waymark/contracts/topics'
import { openDatabase } from '@waymark/database'
import { eventKeyOf } from '@waymark/domain/ingestion'
import {
  type ArchivingPostgres,
  eventually,
  executeOnClickHouse,
  extent,
  requireServices,
  services,
  startArchivingPostgres,
  startProcess,
  startRedis,
} from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { countLoad, expectStoredOnce, report } from './audit.ts'
import { createPool } from './coupons.ts'
import { createFleet, type Fleet, type Replica } from './fleet.ts'
import { openKafka } from './kafka-admin.ts'
import { startLoad } from './load.ts'

const SETUP = path.resolve(import.meta.dirname, '../../setup/src/main.ts')
/** How long events are sent before the backup, between it and the chosen time, and after that, in ms. */
const SENT_MS = extent(3_000, 20_000)
/** Codes that are redeemed, and clicks, on each side of the chosen time. */
const TIMES = 10
/** How far the clocks of clients are ahead, in ms. */
const CLOCK_OFFSETS = [0, 3_600_000, -3_600_000]

// The steps of docs/backup.md, "Restore PostgreSQL to an earlier time".
const AFTER_RESTORE = [
  `UPDATE email.deliveries SET status = 'canceled', next_attempt_at = NULL, context = NULL
   WHERE status IN ('pending', 'sending')`,
  'UPDATE ingest.profiles SET version = version + 1000000000',
]
const REDEEMED = `
  SELECT JSONExtractString(properties, 'redemptionId') AS id, JSONExtractString(properties, 'code') AS code
  FROM events FINAL WHERE event_name = 'coupon_redeemed' AND received_at > {time} - INTERVAL 1 MINUTE FORMAT JSONEachRow`
const LOST_REDEMPTIONS = `
  SELECT code FROM jsonb_to_recordset($1) AS redeemed(id uuid, code text)
  WHERE NOT EXISTS (SELECT FROM coupon.redemptions r WHERE r.id = redeemed.id)`

describe.skipIf(!services)('a restore of PostgreSQL to an earlier time, with what Kafka has kept', () => {
  let server: ArchivingPostgres
  let redis: Awaited<ReturnType<typeof startRedis>>
  let fleet: Fleet

  beforeAll(async () => {
    const shared = requireServices()
    server = await startArchivingPostgres()
    redis = await startRedis()
    fleet = await createFleet({ ...shared, postgresUrl: server.url, redisUrl: redis.url })
  })
  afterAll(async () => {
    await fleet?.stop()
    await Promise.all([server, redis].map((started) => started?.container.stop({ timeout: 0 })))
  })

  const post = (to: Replica, where: string, body: object, headers: Record<string, string> = {}) =>
    to.request(where, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })

  const runSetup = async (step: string, env: Record<string, string>): Promise<void> => {
    const setup = startProcess(process.execPath, [SETUP, step], {
      env: { PATH: process.env.PATH, ...fleet.env, ...env },
    })
    if ((await setup.ended) !== 0) throw new Error(`${step} failed:\n${setup.output()}`)
  }

  it('stores every accepted event once in both stores, and shows which redemptions were lost', async () => {
    const pipeline = await fleet.startPipeline()
    const [coupons, links] = [await fleet.start('coupon-service'), await fleet.start('link-redirector')]
    const linkId = uuidv7()
    await fleet.db.prisma.shortLink.create({
      data: {
        id: linkId,
        projectId: fleet.projectId,
        code: 'before',
        status: 'active',
        tags: [],
        destination: 'https://shop.example/',
      },
    })
    const { codes } = await createPool(fleet, { size: 2 * TIMES })

    const synchronous: string[] = []
    /** Synchronous events, clicks and redemptions. Returns the redeemed codes. */
    const doEverything = async (): Promise<string[]> => {
      const redeemed: string[] = []
      for (let n = 0; n < TIMES; n++) {
        const eventId = `sync-${randomUUID()}`
        const event = { eventId, eventName: 'page_view', visitorId: `sync ${n}` }
        expect((await post(pipeline.gateway, '/api/v1/t?sync=1', event)).status).toBe(200)
        synchronous.push(eventId)
        const headers = { 'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64) Chrome/126.0.0.0 Safari/537.36' }
        expect((await links.request('/s/before', { headers, redirect: 'manual' })).status).toBe(302)
        const code = `${codes.pop()}`
        const answer = await post(
          coupons,
          '/api/v1/coupons/redeem',
          { code, userId: `user ${code}` },
          { 'Idempotency-Key': code },
        )
        expect(answer.status).toBe(200)
        redeemed.push(code)
      }
      return redeemed
    }

    const clicksIn = async ({ db }: Fleet) => {
      const { rows } = await db.pool.query<{ stored: number; counted: number }>(
        `SELECT (SELECT count(*)::int FROM link.clicks WHERE link_id = $1) AS stored,
           (SELECT (clicks + bot_clicks)::int FROM link.counts WHERE link_id = $1) AS counted`,
        [linkId],
      )
      return rows[0]
    }

    let offset = 0
    const { load: sending, stop } = startLoad({
      name: 'restored',
      send: pipeline.gateway.request,
      batch: 5,
      pauseMs: 100,
      fields: () => {
        const ahead = CLOCK_OFFSETS[offset++ % CLOCK_OFFSETS.length] ?? 0
        return { clientTimestamp: new Date(Date.now() + ahead).toISOString() }
      },
    })
    await sleep(SENT_MS)
    await server.backUp()
    await doEverything()
    const rewindTo = new Date().toISOString()
    await sleep(SENT_MS)
    // What was accepted before `rewindTo` is not read again, so it must be stored by the chosen time.
    const accepted = { ...sending, sent: [...sending.sent], acknowledged: new Set(sending.acknowledged) }
    await eventually('everything accepted so far is stored', async () =>
      Object.values(await countLoad(fleet, accepted)).every(({ missing }) => missing.length === 0),
    )
    await eventually('every click so far is stored', async () => (await clicksIn(fleet))?.stored === TIMES)
    const { rows } = await fleet.db.pool.query<{ time: string }>(
      `SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"') AS time`,
    )
    const time = `${rows[0]?.time}`
    // So that it is after that time by any clock resolution.
    await sleep(10)
    const lost = await doEverything()
    await sleep(SENT_MS)
    const load = await stop()
    await expectStoredOnce(fleet, load, 'before the restore')

    await server.waitForArchive()
    const stoppedAt = performance.now()
    for (const replica of [pipeline.gateway, coupons, links, pipeline.enrichment, pipeline.persistence])
      await replica.terminate()
    const restoreAt = performance.now()
    const restoredUrl = await server.restore(time)
    const restoredMs = performance.now() - restoreAt
    const url = new URL(fleet.env.DATABASE_URL)
    url.port = new URL(restoredUrl).port
    const db = openDatabase({ url: url.href, poolSize: 4, applicationName: 'chaos', onError: () => {} })
    const after: Fleet = { ...fleet, db, env: { ...fleet.env, DATABASE_URL: url.href } }
    const storedAtTime = await db.pool.query<{ events: string; redemptions: string }>(
      `SELECT (SELECT count(*) FROM ingest.event_ids) AS events, (SELECT count(*) FROM coupon.redemptions) AS redemptions`,
    )
    for (const statement of AFTER_RESTORE) await db.pool.query(statement)
    await redis.container.exec(['redis-cli', 'FLUSHALL'])
    await executeOnClickHouse(
      fleet.env.CLICKHOUSE_URL,
      `DELETE FROM ${fleet.env.CLICKHOUSE_DATABASE}.events
       WHERE NOT erased AND (received_at >= parseDateTime64BestEffort('${time}', 3)
         OR precedence <= 9223372036854775807 - toUnixTimestamp64Micro(parseDateTime64BestEffort('${time}', 6)))`,
    )
    const env = { DATABASE_URL: url.href }
    const kafka = await openKafka(fleet)
    /** Lets new consumers read again from `rewindTo`. Returns them when they have finished. */
    const readAgain = async (): Promise<Replica[]> => {
      await runSetup('rewind', { REWIND_TO: rewindTo })
      const consumers = [
        await fleet.start('enrichment-consumer', env),
        await fleet.start('persistence-consumer', env),
      ]
      const { enrichment: enriching, events, clicks } = consumerGroups
      await eventually(
        'everything is read again',
        async () => {
          for (const { group, topic } of [enriching, events, clicks])
            if ((await kafka.lag(group, topic.name)) > 0) return false
          return true
        },
        240_000,
      )
      return consumers
    }
    const consumers = await readAgain()
    const tookMs = performance.now() - stoppedAt
    await runSetup('skip', {})
    expect(await kafka.lag('email', 'events.enriched.v1')).toBe(0)

    await expectStoredOnce(after, load, 'after the restore')
    const { rows: sync } = await db.pool.query<{ key: string }>(
      'SELECT event_key AS key FROM ingest.event_ids WHERE project_id = $1 AND event_key = ANY($2::uuid[])',
      [fleet.projectId, synchronous.map(eventKeyOf)],
    )
    expect(sync).toHaveLength(synchronous.length)
    const syncInAnalytics = async () =>
      Number(
        await executeOnClickHouse(
          fleet.env.CLICKHOUSE_URL,
          `SELECT count() FROM ${fleet.env.CLICKHOUSE_DATABASE}.events FINAL
           WHERE project_id = '${fleet.projectId}' AND startsWith(ifNull(visitor_id, ''), 'sync ')`,
        ),
      )
    expect(await syncInAnalytics()).toBe(synchronous.length)
    expect(await clicksIn(after)).toEqual({ stored: 2 * TIMES, counted: 2 * TIMES })
    const redeemed = await executeOnClickHouse(
      fleet.env.CLICKHOUSE_URL,
      REDEEMED.replace('events', `${fleet.env.CLICKHOUSE_DATABASE}.events`).replace(
        '{time}',
        `parseDateTime64BestEffort('${time}', 3)`,
      ),
    )
    const { rows: found } = await db.pool.query<{ code: string }>(LOST_REDEMPTIONS, [
      JSON.stringify(
        redeemed
          .split('\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line)),
      ),
    ])
    const foundCodes = found.map(({ code }) => code.replaceAll('-', ''))
    expect(foundCodes.toSorted()).toEqual(lost.toSorted())

    // A backup of ClickHouse that is older than PostgreSQL lacks events whose ids PostgreSQL has claimed.
    for (const consumer of consumers) await consumer.terminate()
    await executeOnClickHouse(
      fleet.env.CLICKHOUSE_URL,
      `DELETE FROM ${fleet.env.CLICKHOUSE_DATABASE}.events WHERE received_at >= parseDateTime64BestEffort('${rewindTo}', 3)`,
    )
    await readAgain()
    await kafka.close()
    await expectStoredOnce(after, load, 'after the restore of ClickHouse')
    expect(await syncInAnalytics()).toBe(synchronous.length)
    expect(await clicksIn(after)).toEqual({ stored: 2 * TIMES, counted: 2 * TIMES })
    await db.close()
    report('PostgreSQL restored to a time, and Kafka read again', {
      'events at that time': `${storedAtTime.rows[0]?.events}`,
      'redemptions lost and found': found.length,
      'restored in': `${Math.round(restoredMs)} ms`,
      'stores complete after': `${Math.round(tookMs)} ms`,
    })
  }, 600_000)
})
