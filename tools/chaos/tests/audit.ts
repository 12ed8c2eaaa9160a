import { eventKeyOf } from '@waymark/domain/ingestion'
import { eventually, executeOnClickHouse } from '@waymark/testing'
import { expect } from 'vitest'
import { RECOVERY_MS } from './durations.ts'
import type { Fleet } from './fleet.ts'
import { type Load, refusals, slowestMs } from './load.ts'

/** Result of a check by id: `missing` were acknowledged but not stored; `twice` were stored more than once. */
export type Count = { stored: number; missing: string[]; twice: string[]; unknown: string[] }

const compare = (expected: Iterable<string>, sent: ReadonlySet<string>, found: readonly string[]): Count => {
  const times = new Map<string, number>()
  for (const id of found) times.set(id, (times.get(id) ?? 0) + 1)
  return {
    stored: times.size,
    missing: [...expected].filter((id) => !times.has(id)),
    twice: [...times].filter(([, count]) => count > 1).map(([id]) => id),
    unknown: [...times.keys()].filter((id) => !sent.has(id)),
  }
}

/** Looks for every event of a load in its stores: the claims of ids, the conversions, and the event store. */
export const countLoad = async ({ db, projectId, env }: Fleet, load: Load) => {
  const ofLoad = new Map(load.sent.map((id) => [eventKeyOf(id), id]))
  const idsIn = async (table: string): Promise<string[]> => {
    const { rows } = await db.pool.query<{ key: string }>(
      `SELECT event_key AS key FROM ${table} WHERE project_id = $1`,
      [projectId],
    )
    return rows.flatMap(({ key }) => ofLoad.get(key) ?? [])
  }
  /** As in queries: unmerged rows of the same event count as one. */
  const inAnalytics = async (unnested = '') => {
    const keys = await executeOnClickHouse(
      env.CLICKHOUSE_URL,
      `SELECT toString(event_key) FROM ${env.CLICKHOUSE_DATABASE}.events FINAL ${unnested}
       WHERE project_id = '${projectId}' FORMAT TabSeparated`,
    )
    return keys.split('\n').flatMap((key) => ofLoad.get(key) ?? [])
  }
  const sent = new Set(load.sent)
  const acknowledgedConversions = [...load.acknowledged].filter((id) => load.metering.has(id))
  return {
    claims: compare(load.acknowledged, sent, await idsIn('ingest.event_ids')),
    conversions: compare(acknowledgedConversions, load.metering, await idsIn('ingest.conversions')),
    eventStore: compare(load.acknowledged, sent, await inAnalytics()),
    analyticsConversions: compare(
      acknowledgedConversions,
      load.metering,
      await inAnalytics('ARRAY JOIN conversions'),
    ),
  }
}

/**
 * Waits until everything acknowledged is stored and nothing is in flight, prints the counts in one line, and expects no
 * missing and no duplicate event.
 */
export const expectStoredOnce = async (fleet: Fleet, load: Load, what: string): Promise<void> => {
  const isThere = async () =>
    Object.values(await countLoad(fleet, load)).every(({ missing }) => missing.length === 0)
  // The counts below say more than a timeout would.
  await eventually(`everything of ${load.name} is stored`, isThere, RECOVERY_MS).catch(() => {})
  await eventually('the outbox is empty', () => isOutboxEmpty(fleet), RECOVERY_MS)
  const counts = await countLoad(fleet, load)
  const { claims, conversions, eventStore } = counts
  const sum = (of: 'missing' | 'twice' | 'unknown') =>
    Object.values(counts).reduce((total, count) => total + count[of].length, 0)
  report(what, {
    sent: load.sent.length,
    acknowledged: load.acknowledged.size,
    'answered 503': refusals(load),
    'without answer': load.attempts.filter(({ status }) => status === 'no answer').length,
    'ids claimed': claims.stored,
    conversions: conversions.stored,
    'in analytics': eventStore.stored,
    missing: sum('missing'),
    twice: sum('twice'),
    'slowest answer': `${slowestMs(load)} ms`,
  })
  if (sum('missing') + sum('twice') + sum('unknown') > 0) process.stdout.write(fleet.lastWords())
  for (const [where, { missing, twice, unknown }] of Object.entries(counts))
    expect({ where, missing, twice, unknown }).toEqual({ where, missing: [], twice: [], unknown: [] })
  expect(load.acknowledged.size).toBe(load.sent.length)
  expect(load.sent.length).toBeGreaterThan(0)
}

const isOutboxEmpty = async ({ db }: Fleet): Promise<boolean> =>
  (await db.pool.query('SELECT 1 FROM ingest.outbox LIMIT 1')).rows.length === 0

/** Prints in one line what a test did and what it counted. */
export const report = (what: string, counts: Record<string, number | string>): void => {
  const printed = Object.entries(counts).map(([name, count]) => `${name} ${count}`)
  process.stdout.write(`chaos: ${what}: ${printed.join(', ')}\n`)
}
