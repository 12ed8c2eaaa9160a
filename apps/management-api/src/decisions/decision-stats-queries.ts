import type { Pool } from 'pg'

/** The counts of a variant; `mixed` is the number of people of the decision who were given several variants. */
export type VariantCounts = {
  variant: string
  exposures: number
  people: number
  mixed: number
  converted: number
  conversions: number
}

// A person is a profile with those merged into it. People who were given several variants are excluded.
const COUNT = `
  WITH exposed AS (
    SELECT coalesce(p.merged_into, e.profile_id) AS person, e.variant, e.exposed_at
    FROM decision.exposures e LEFT JOIN ingest.profiles p ON p.id = e.profile_id
    WHERE e.decision_id = $1
  ), people AS (
    SELECT person, min(variant) AS variant, min(exposed_at) AS since, count(DISTINCT variant) > 1 AS mixed
    FROM exposed GROUP BY person
  ), converted AS (
    SELECT people.person, count(*) AS conversions
    FROM ingest.conversions c
    LEFT JOIN ingest.profiles p ON p.id = c.profile_id
    JOIN people ON people.person = coalesce(p.merged_into, c.profile_id)
    WHERE c.project_id = $2 AND c.occurred_at >= people.since AND ($3::uuid IS NULL OR c.selector_id = $3)
    GROUP BY people.person
  ), exposures AS (
    SELECT variant, count(*) AS exposures FROM exposed GROUP BY variant
  ), compared AS (
    SELECT variant, count(*) AS people, count(conversions) AS converted, sum(conversions) AS conversions
    FROM people LEFT JOIN converted USING (person) WHERE NOT mixed GROUP BY variant
  )
  SELECT variant, exposures::int, coalesce(people, 0)::int AS people, coalesce(converted, 0)::int AS converted,
    coalesce(conversions, 0)::int AS conversions, (SELECT count(*) FROM people WHERE mixed)::int AS mixed
  FROM exposures LEFT JOIN compared USING (variant)`

/** The counts of a decision by variant, as `countingIdOf` names it in an environment. `selectorId`: only conversions by this selector; null for all. */
export const countByVariant = async (
  pool: Pool,
  { countingId, projectId, selectorId }: { countingId: string; projectId: string; selectorId: string | null },
): Promise<Map<string, VariantCounts>> => {
  const { rows } = await pool.query<VariantCounts>({
    name: 'decision-stats',
    text: COUNT,
    values: [countingId, projectId, selectorId],
  })
  return new Map(rows.map((row) => [row.variant, row]))
}
