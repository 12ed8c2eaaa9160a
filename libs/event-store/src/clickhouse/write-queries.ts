import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { eventRows, jsonOf, profileRow } from '../rows.ts'
import type { EventKey, EventWrites } from '../store.ts'
import { timeText } from './dialect.ts'
import { readRows } from './read-rows.ts'
import { COMPLETE_PRECEDENCE, ERASED_PRECEDENCE } from './schema-queries.ts'

/** Columns that an erased event keeps, because conversions are counted by them. */
const KEPT = `project_id, event_key, "time", event_name, bot, browser, os, device, country, utm_source, utm_medium,
  utm_campaign, utm_term, utm_content, click_id, link, link_campaign, warnings, conversions`

const EVENT_NAMES = `
  SELECT toString(event_key) AS eventKey, event_name AS eventName FROM events
  WHERE project_id = {project:UUID} AND event_key IN {keys:Array(UUID)} AND (received_at > 0 OR erased)`

// A replica whose session in Keeper has ended neither counts nor gets new connections.
const ACTIVE_REPLICAS = `
  SELECT active_replicas AS replicas FROM system.replicas WHERE database = currentDatabase() AND table = 'events'`
/** How long an insert waits for all replicas, in ms: less than the deadline of a request. */
const ALL_REPLICAS_TIMEOUT_MS = 3_000

/** From this number of rows an insert is worth a part of the table of its own. */
const LARGE_INSERT = 1_000
/** The server neither waits for inserts of others, nor starts threads to parse what one parses in milliseconds. */
const AT_ONCE: ClickHouseSettings = { async_insert: 0, input_format_parallel_parsing: 0 }

/** The writer of the store. Each call resolves once the server has stored the rows. */
export const createWrites = (
  client: ClickHouseClient,
  toWriteError: (error: unknown) => Error,
): EventWrites => {
  const fail = (error: unknown): never => {
    throw toWriteError(error)
  }
  const insert = async (
    table: string,
    rows: readonly object[],
    settings: ClickHouseSettings = {},
  ): Promise<void> => {
    const [first] = rows
    if (!first) return
    const [name = '', ...names] = Object.keys(first)
    await client
      .insert({
        table,
        columns: [name, ...names],
        values: rows.map((row) => Object.values(row)),
        // Without the names of the columns in each row, which are a third of its bytes.
        format: 'JSONCompactEachRow',
        clickhouse_settings: rows.length < LARGE_INSERT ? settings : { ...AT_ONCE, ...settings },
      })
      .catch(fail)
  }
  /** Settings of an insert that waits for all replicas; none for a table that is not replicated. */
  const forAllReplicas = async (): Promise<ClickHouseSettings> => {
    const found = await client
      .query({ query: ACTIVE_REPLICAS, format: 'JSONEachRow' })
      .then((result) => result.json<{ replicas: number }>())
      .catch(fail)
    const replicas = found[0]?.replicas ?? 1
    return replicas > 1
      ? { insert_quorum: `${replicas}`, insert_quorum_timeout: ALL_REPLICAS_TIMEOUT_MS }
      : {}
  }
  const command = async (query: string, query_params: Record<string, unknown>): Promise<void> => {
    await client.command({ query, query_params }).catch(fail)
  }
  const insertEvents = async (
    events: readonly EnrichedEvent[],
    { more = {}, settings }: { more?: object; settings?: ClickHouseSettings } = {},
  ): Promise<void> => {
    if (events.length === 0) return
    await insert(
      'events',
      eventRows(events).map((row) => ({
        ...row,
        ...more,
        properties: jsonOf(row.properties),
        erased: false,
      })),
      settings,
    )
  }
  return {
    storeEvents: async (events, { onAllReplicas = false } = {}) => {
      if (events.length === 0) return
      await insertEvents(events, onAllReplicas ? { settings: await forAllReplicas() } : {})
    },
    completeEvents: (events) => insertEvents(events, { more: { precedence: COMPLETE_PRECEDENCE } }),
    findEventNames: async (keys) => {
      const found: (EventKey & { eventName: string })[] = []
      for (const [projectId, named] of Map.groupBy(keys, (key) => key.projectId)) {
        const rows = await readRows<Omit<EventKey, 'projectId'> & { eventName: string }>(client, {
          query: EVENT_NAMES,
          query_params: { project: projectId, keys: named.map(({ eventKey }) => eventKey) },
        }).catch(fail)
        found.push(...rows.map((row) => ({ projectId, ...row })))
      }
      return found
    },
    storeProfiles: async (profiles) => {
      if (profiles.length === 0) return
      await insert(
        'profiles',
        profiles.map((profile) => ({ ...profileRow(profile), traits: jsonOf(profile.traits) })),
      )
    },
    eraseEvents: async (events) => {
      for (const [project, named] of Map.groupBy(events, ({ projectId }) => projectId)) {
        const keys = named.map(({ eventKey }) => eventKey)
        const where = 'WHERE project_id = {project:UUID} AND event_key IN {keys:Array(UUID)} AND NOT erased'
        await command(
          `INSERT INTO events (${KEPT}, properties, erased, precedence)
           SELECT ${KEPT}, '{}', true, ${ERASED_PRECEDENCE} FROM events ${where} AND notEmpty(conversions)`,
          { project, keys },
        )
        await command(`DELETE FROM events ${where}`, { project, keys })
      }
    },
    removeOldestDay: async ({ projectId, before, receivedBefore = Number.MAX_SAFE_INTEGER }) => {
      const where = `WHERE project_id = {project:UUID} AND "time" < {before:DateTime64(3, 'UTC')}
        AND toUnixTimestamp64Milli(received_at) < {received:Int64}`
      const query_params = { project: projectId, before: timeText(before), received: receivedBefore }
      const oldest = await client
        .query({
          query: `SELECT toStartOfDay(min("time")) AS day, count() AS events FROM events ${where}`,
          query_params,
          format: 'JSONEachRow',
          // Repeats do not change the earliest day.
          clickhouse_settings: { final: 0 },
        })
        .then((result) => result.json<{ day: string; events: string }>())
        .catch(fail)
      const [found] = oldest
      if (!found || Number(found.events) === 0) return false
      await command(`DELETE FROM events ${where} AND "time" < {day:DateTime64(3, 'UTC')} + INTERVAL 1 DAY`, {
        ...query_params,
        day: found.day,
      })
      return true
    },
    eraseProfiles: async (profiles) => {
      for (const [project, named] of Map.groupBy(profiles, ({ projectId }) => projectId))
        await command(
          'DELETE FROM profiles WHERE project_id = {project:UUID} AND profile_id IN {ids:Array(UUID)}',
          { project, ids: named.map(({ profileId }) => profileId) },
        )
    },
  }
}
