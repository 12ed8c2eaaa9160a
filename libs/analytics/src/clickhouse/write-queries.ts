import type { ClickHouseClient } from '@clickhouse/client'
import { eventRows, jsonOf, profileRow } from '../rows.ts'
import type { AnalyticsWrites } from '../store.ts'
import { timeText } from './dialect.ts'
import { ERASED_PRECEDENCE } from './schema-queries.ts'

/** Columns that an erased event keeps, because conversions are counted by them. */
const KEPT = `project_id, event_key, "time", event_name, bot, browser, os, device, country, utm_source, utm_medium,
  utm_campaign, utm_term, utm_content, link, link_campaign, warnings, conversions`

/** The writer of the store. Each call resolves once the server has stored the rows. */
export const createWrites = (
  client: ClickHouseClient,
  toWriteError: (error: unknown) => Error,
): AnalyticsWrites => {
  const fail = (error: unknown): never => {
    throw toWriteError(error)
  }
  const insert = async (table: string, values: readonly object[]): Promise<void> => {
    await client.insert({ table, values: [...values], format: 'JSONEachRow' }).catch(fail)
  }
  const command = async (query: string, query_params: Record<string, unknown>): Promise<void> => {
    await client.command({ query, query_params }).catch(fail)
  }
  return {
    storeEvents: async (events) => {
      if (events.length === 0) return
      await insert(
        'events',
        eventRows(events).map((row) => ({
          ...row,
          properties: jsonOf(row.properties),
          erased: false,
        })),
      )
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
    removeOldestDay: async ({ projectId, before }) => {
      const oldest = await client
        .query({
          query: `SELECT toStartOfDay(min("time")) AS day, count() AS events FROM events
            WHERE project_id = {project:UUID} AND "time" < {before:DateTime64(3, 'UTC')}`,
          query_params: { project: projectId, before: timeText(before) },
          format: 'JSONEachRow',
          // Repeats do not change the earliest day.
          clickhouse_settings: { final: 0 },
        })
        .then((result) => result.json<{ day: string; events: string }>())
        .catch(fail)
      const [found] = oldest
      if (!found || Number(found.events) === 0) return false
      await command(
        `DELETE FROM events WHERE project_id = {project:UUID} AND "time" < {before:DateTime64(3, 'UTC')}
          AND "time" < {day:DateTime64(3, 'UTC')} + INTERVAL 1 DAY`,
        { project: projectId, before: timeText(before), day: found.day },
      )
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
