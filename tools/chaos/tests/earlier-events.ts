import { isDeepStrictEqual } from 'node:util'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { type StoredEvent, viewOf } from '@waymark/event-store'
import { openClickHouseStore } from '@waymark/event-store/clickhouse'
import { anEnrichedEvent, eventually, executeOnClickHouse, storeAsBefore } from '@waymark/testing'
import { expect } from 'vitest'
import { report } from './audit.ts'
import { type Fleet, METERED } from './fleet.ts'
import type { Send } from './load.ts'

/** The time over which they are spread, in ms. */
const SPREAD_MS = 120 * 24 * 60 * 60 * 1000
const STORED_AT_ONCE = 5_000
/** How long a process of this version may take to move them, in ms, besides 1 ms for each; it looks for others after 2 minutes. */
const MOVED_MS = 300_000

/** So many events that the previous version has stored in PostgreSQL and not in the event store. */
export const createEarlierEvents = async ({ db, env, projectId }: Fleet, count: number) => {
  const { id: selectorId } = await db.prisma.meteringSelector.findFirstOrThrow({
    where: { projectId, eventName: METERED },
    select: { id: true },
  })
  const begunAt = Date.now()

  const eventAt = (n: number): EnrichedEvent =>
    anEnrichedEvent({
      projectId,
      receivedAt: new Date(begunAt - Math.floor((n * SPREAD_MS) / count)).toISOString(),
      client: {
        ip: `203.0.113.${n % 250}`,
        userAgent: 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/126.0.0.0 Safari/537.36',
      },
      ...(n % 5 === 0 && {
        warnings: [{ field: 'properties.total', rule: 'type', message: 'must be a number' }],
      }),
      event: {
        eventId: `earlier-${n}`,
        eventName: n % 4 === 0 ? METERED : 'page_view',
        visitorId: `visitor ${n % 1_000}`,
        ...(n % 3 === 0 && { userId: `shopper ${n % 100}` }),
        ...(n % 7 === 0 && { shortLinkCode: `code${n}`, clickIds: { gclid: `g${n}` } }),
        ...(n % 2 === 0 && { clientTimestamp: new Date(begunAt - n).toISOString() }),
        properties: {
          n,
          total: 500,
          url: `https://shop.example/${n % 50}?utm_source=mail&gclid=g${n}`,
          nested: { list: [1, 'a', null], text: 'Ünïcode "quoted"' },
        },
      },
    })
  const storeConversions = () =>
    db.pool.query(
      `INSERT INTO ingest.conversions (project_id, event_key, selector_id, event_id, event_name, amount, currency, quantity,
         visitor_id, user_id, attribution, occurred_at, received_at)
       SELECT project_id, event_key, $2, event_id, event_name, 50000, 'EUR', 1, visitor_id, user_id, '{}', "timestamp", received_at
       FROM ingest.events WHERE project_id = $1 AND event_name = $3`,
      [projectId, selectorId, METERED],
    )
  const conversions = async () =>
    (
      await db.pool.query<{ conversions: number; amount: string }>(
        `SELECT count(*)::int AS conversions, sum(amount)::text AS amount FROM ingest.conversions
         WHERE project_id = $1 AND event_id LIKE 'earlier-%'`,
        [projectId],
      )
    ).rows[0]

  /** The months that no process of the previous version can store events of any more. */
  const oldMonths = async () =>
    (
      await db.pool.query<{ name: string }>(
        `SELECT relname AS name FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
         WHERE inhparent = 'ingest.events'::regclass AND to_date(right(relname, 7), 'YYYY_MM') + interval '2 months' < now()`,
      )
    ).rows.map(({ name }) => name)

  const conversionsInEventStore = async (): Promise<number> =>
    Number(
      await executeOnClickHouse(
        env.CLICKHOUSE_URL,
        `SELECT count() FROM ${env.CLICKHOUSE_DATABASE}.events FINAL ARRAY JOIN conversions
         WHERE project_id = '${projectId}' AND startsWith(JSONExtractString(details, 'eventId'), 'earlier-')`,
      ),
    )

  const isGone = async (): Promise<boolean> =>
    (await db.pool.query('SELECT FROM ingest.events LIMIT 1')).rowCount === 0

  /** Reads all of them from the event store. Returns those that differ from what was stored, and how often each is there. */
  const readAll = async () => {
    const store = openClickHouseStore({
      url: env.CLICKHOUSE_URL,
      database: env.CLICKHOUSE_DATABASE,
      queryTimeoutMs: 60_000,
      queryMemoryBytes: 1_000_000_000,
    })
    const times = new Uint8Array(count)
    const different: { stored: StoredEvent; expected: unknown }[] = []
    for await (const { events } of store.readEvents({ projectId, portion: () => 10_000 }))
      for (const stored of events) {
        const n = Number(/^earlier-(\d+)$/.exec(stored.eventId)?.[1] ?? -1)
        if (n < 0) continue
        times[n] = (times[n] ?? 0) + 1
        const { v, projectId: _, backfill, conversions: __, ...expected } = eventAt(n)
        if (!isDeepStrictEqual(viewOf(stored), expected)) different.push({ stored, expected })
      }
    await store.close()
    return { times, different }
  }

  const copied = async (): Promise<number> =>
    Number(
      await executeOnClickHouse(
        env.CLICKHOUSE_URL,
        `SELECT count() FROM ${env.CLICKHOUSE_DATABASE}.events WHERE project_id = '${projectId}'
           AND startsWith(JSONExtractString(details, 'eventId'), 'earlier-')`,
      ),
    )

  return {
    /** Waits until some have been copied. */
    untilCopied: () => eventually('some events are copied', async () => (await copied()) > 0),
    /** Stores them as the previous version did. */
    store: async (): Promise<void> => {
      for (let start = 0; start < count; start += STORED_AT_ONCE) {
        const length = Math.min(STORED_AT_ONCE, count - start)
        const events = Array.from({ length }, (_, index) => eventAt(start + index))
        await storeAsBefore(db, events)
      }
      await storeConversions()
    },
    /** Sends some of them again, with another body. */
    repeat: async (send: Send): Promise<void> => {
      for (const path of ['/api/v1/t', '/api/v1/t?sync=1'])
        for (const n of [0, 1, count - 4, count - 1]) {
          const { eventId, eventName } = eventAt(n)
          const event = { eventId, eventName, visitorId: 'repeats' }
          const response = await send(path, {
            method: 'POST',
            headers: { 'Content-Type': 'application/json' },
            body: JSON.stringify({ events: [{ ...event, properties: { total: 1 } }] }),
          })
          expect([200, 202]).toContain(response.status)
        }
    },
    /** Waits until PostgreSQL has none left, and expects each in the event store as it was, once. */
    expectMoved: async (): Promise<void> => {
      await eventually('the events have left PostgreSQL', isGone, MOVED_MS + count)
      const { times, different } = await readAll()
      report('events of the previous version', {
        stored: count,
        once: times.filter((found) => found === 1).length,
        different: different.length,
      })
      expect(different.slice(0, 3)).toEqual([])
      expect(times.findIndex((found) => found !== 1)).toBe(-1)
      expect(await oldMonths()).toEqual([])
      const metered = Math.ceil(count / 4)
      expect(await conversions()).toEqual({ conversions: metered, amount: `${metered * 50_000}` })
      expect(await conversionsInEventStore()).toBe(metered)
    },
  }
}
