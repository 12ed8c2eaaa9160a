import { SAMPLED_EVENTS } from '@waymark/contracts/http/analytics'
import type { PropertiesQuery, PropertyRow, PropertyValueRow, PropertyValuesQuery } from '../store.ts'
import { createConditions, needsTraits } from './condition-queries.ts'
import type { Database } from './dialect.ts'
import { eventsFrom } from './table-queries.ts'

type Row = { key: string; types: PropertyRow['types']; share: number; last_seen: bigint | number }

/** The keys of the properties of the newest events, the most frequent first. */
export const listProperties = async (
  { dialect, query: run }: Database,
  query: PropertiesQuery,
): Promise<PropertyRow[]> => {
  const parameters = dialect.parameters()
  const text = `
    WITH sample ${dialect.materialized} (
      SELECT e."time" AS t, e.properties AS properties ${eventsFrom(dialect, query, parameters)}
      ORDER BY e."time" DESC LIMIT ${SAMPLED_EVENTS}
    ),
    pairs AS (SELECT t, key, type FROM ${dialect.members('sample', 'properties')})
    SELECT key, ${dialect.listDistinct('type')} AS types,
      ${dialect.asNumber('count(*)')} / (SELECT count(*) FROM sample) AS share, ${dialect.epochMs('max(t)')} AS last_seen
    FROM pairs WHERE type IS NOT NULL GROUP BY key ORDER BY share DESC, key LIMIT ${query.limit}`
  const rows = await run<Row>(query.projectId, text, parameters.bindings)
  return rows.map(({ key, types, share, last_seen }) => ({
    key,
    types: [...types].sort(),
    share: Number(share),
    lastSeen: Number(last_seen),
  }))
}

/** The values of a property in the newest events, the most frequent first. */
export const listPropertyValues = async (
  { dialect, query: run }: Database,
  query: PropertyValuesQuery,
): Promise<PropertyValueRow[]> => {
  const parameters = dialect.parameters()
  const { textOf } = createConditions(dialect, parameters)
  const { property, contains, limit } = query
  const from = eventsFrom(dialect, query, parameters, { traits: needsTraits([property]) })
  const matching =
    contains === undefined
      ? ''
      : `AND ${dialect.contains(dialect.lower('value'), dialect.lower(parameters.text(contains)))}`
  const text = `
    WITH sample AS (
      SELECT ${dialect.asText(textOf(property))} AS value ${from} ORDER BY e."time" DESC LIMIT ${SAMPLED_EVENTS}
    )
    SELECT value, count(*) AS events FROM sample WHERE value IS NOT NULL ${matching}
    GROUP BY value ORDER BY events DESC, value LIMIT ${limit}`
  const rows = await run<{ value: string; events: bigint | number }>(
    query.projectId,
    text,
    parameters.bindings,
  )
  return rows.map(({ value, events }) => ({ value, events: Number(events) }))
}
