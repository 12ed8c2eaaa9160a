import { createHash } from 'node:crypto'
import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { eventRows, jsonOf, profileRow } from '../rows.ts'
import { CHANNEL_RULES } from '../sql/channel-queries.ts'
import {
  createVisitDerivation,
  type DueDay,
  deriveStatements,
  eventsOfEndedDays,
} from '../sql/derive-visit-queries.ts'
import type { Database } from '../sql/dialect.ts'
import { DAY_MS, storedVisitor } from '../sql/visit-part-queries.ts'
import type { EventKey, EventWrites } from '../store.ts'
import { clickhouseDialect, timeText } from './dialect.ts'
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

const storedVisitorOf = storedVisitor(clickhouseDialect)
const HAS_VISITOR = '(e.profile_id IS NOT NULL OR e.visitor_id IS NOT NULL)'
const ERASED_VISITORS = `
  SELECT DISTINCT e.project_id AS project_id, ${clickhouseDialect.dayOf('e."time"')} AS day, assumeNotNull(${storedVisitorOf}) AS visitor
  FROM events AS e WHERE e.project_id = {project:UUID} AND e.event_key IN {keys:Array(UUID)} AND ${HAS_VISITOR}`

const NOW = 'SELECT toString(toUnixTimestamp64Micro(now64(6))) AS version'
const OF_DAY = 'WHERE project_id = {project:UUID} AND day = {day:Int32}'

const OF_NO_BUILD = '(project_id, day) NOT IN (SELECT project_id, day FROM visit_days WHERE build > 0)'
// Of an hour ago, so that no clock differs as much.
const COUNT_OLD_CHANGES = `
  WITH toUnixTimestamp64Micro(now64(6) - INTERVAL 1 HOUR) AS before
  SELECT toString(before) AS version, toString(count()) AS marks FROM visit_changes WHERE version < before AND ${OF_NO_BUILD}`

/** From this number of rows an insert is worth a part of the table of its own. */
const LARGE_INSERT = 1_000
/** The server neither waits for inserts of others, nor starts threads to parse what one parses in milliseconds. */
const AT_ONCE: ClickHouseSettings = { async_insert: 0, input_format_parallel_parsing: 0 }

/** The hash of a text as `hashedUuid` of the dialect: ClickHouse takes the bytes of each half in reverse. */
const hashedUuid = (text: string): string => {
  const hash = createHash('md5').update(text).digest()
  hash.subarray(0, 8).reverse()
  hash.subarray(8).reverse()
  return hash.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** The writer of the store. Each call resolves once the server has stored the rows. */
export const createWrites = (
  client: ClickHouseClient,
  database: Database,
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
  /** Marks the visitors of events of ended days as changed, after these are stored. */
  const markChanged = async (
    events: readonly EnrichedEvent[],
    settings?: ClickHouseSettings,
  ): Promise<void> => {
    const marks = eventsOfEndedDays(events).flatMap(({ projectId, timestamp, profileId, visitorId }) => {
      const day = Math.floor(Date.parse(timestamp) / DAY_MS)
      const visitor = profileId ?? (visitorId === null ? null : hashedUuid(visitorId))
      return visitor === null ? [] : [{ project_id: projectId, day, visitor }]
    })
    const distinct = new Map(marks.map((mark) => [`${mark.project_id} ${mark.day} ${mark.visitor}`, mark]))
    await insert('visit_changes', [...distinct.values()], settings)
  }
  const deriveDay = async (due: DueDay): Promise<void> => {
    const rows = await readRows<{ version: string }>(client, { query: NOW })
    const build = Number(rows[0]?.version)
    const { projectId, day } = due
    // Known to all replicas before another day is derived, which must see the sessions of this one.
    const settings = await forAllReplicas()
    for (const { text, bindings } of deriveStatements(database.dialect, due, build))
      await client
        .command({
          query: text,
          query_params: bindings,
          clickhouse_settings: { ...settings, async_insert: 0 },
        })
        .catch(fail)
    await insert(
      'visit_days',
      [{ project_id: projectId, day, build, rules: CHANNEL_RULES, version: build }],
      {
        ...settings,
        ...AT_ONCE,
      },
    )
    await command(`DELETE FROM visit_parts ${OF_DAY} AND build < {build:Int64}`, {
      project: projectId,
      day,
      build,
    })
    const seen = build - (database.changeMarginUs ?? 0)
    await command(`DELETE FROM visit_changes ${OF_DAY} AND version <= {seen:Int64}`, {
      project: projectId,
      day,
      seen,
    })
  }
  const derive = createVisitDerivation(database, deriveDay)
  /** Deletes the marks of days without a build: one that is derived later has seen their changes. */
  const forgetChanges = async (): Promise<void> => {
    const [row] = await readRows<{ version: string; marks: string }>(client, { query: COUNT_OLD_CHANGES })
    if (Number(row?.marks ?? 0) === 0) return
    await command(`DELETE FROM visit_changes WHERE version < {version:Int64} AND ${OF_NO_BUILD}`, {
      version: row?.version,
    })
  }
  return {
    storeEvents: async (events, { onAllReplicas = false } = {}) => {
      if (events.length === 0) return
      const settings = onAllReplicas ? await forAllReplicas() : {}
      await insertEvents(events, { settings })
      await markChanged(events, settings)
    },
    completeEvents: async (events) => {
      await insertEvents(events, { more: { precedence: COMPLETE_PRECEDENCE } })
      await markChanged(events)
    },
    deriveVisits: async (due) => {
      if (await derive(due)) return true
      await forgetChanges()
      return false
    },
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
        const visitors = await readRows<{ project_id: string; day: number; visitor: string }>(client, {
          query: ERASED_VISITORS,
          query_params: { project, keys },
        }).catch(fail)
        // Before, because a retry would not find them, and after, because a day may be derived meanwhile.
        await insert('visit_changes', visitors, AT_ONCE)
        await command(
          `INSERT INTO events (${KEPT}, properties, erased, precedence)
           SELECT ${KEPT}, '{}', true, ${ERASED_PRECEDENCE} FROM events ${where} AND notEmpty(conversions)`,
          { project, keys },
        )
        await command(`DELETE FROM events ${where}`, { project, keys })
        await insert('visit_changes', visitors, AT_ONCE)
        for (const [day, changed] of Map.groupBy(visitors, (one) => one.day))
          await command(`DELETE FROM visit_parts ${OF_DAY} AND visitor IN {visitors:Array(UUID)}`, {
            project,
            day,
            visitors: changed.map(({ visitor }) => visitor),
          })
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
      const removed = Math.floor(Date.parse(`${found.day.replace(' ', 'T')}Z`) / DAY_MS)
      const derived = await readRows<{ day: number }>(client, {
        query: `SELECT day FROM visit_days WHERE project_id = {project:UUID} AND day <= {removed:Int32} AND build > 0`,
        query_params: { project: projectId, removed },
      }).catch(fail)
      await insert(
        'visit_days',
        derived.map(({ day }) => ({ project_id: projectId, day, build: 0, rules: 0 })),
        AT_ONCE,
      )
      for (const table of ['visit_parts', 'visit_changes'])
        await command(`DELETE FROM ${table} WHERE project_id = {project:UUID} AND day <= {removed:Int32}`, {
          project: projectId,
          removed,
        })
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
