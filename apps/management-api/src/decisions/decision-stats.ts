import { type DecisionDefinition, type DecisionStats, getDecisionStats } from '@waymark/contracts'
import { compareRates, rateOf } from '@waymark/domain'
import type { Route } from '@waymark/service-kit'
import type { Pool } from 'pg'
import { requireFound } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'

type Row = {
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

/** Exposures, people and conversions by variant, compared with the fallback variant. */
export const decisionStatsRoute = ({ projectRoute, db }: ManagementDeps): Route =>
  projectRoute(getDecisionStats, async ({ projectId, key, query }) => {
    const row = requireFound(
      await db.prisma.decision.findUnique({ where: { projectId_key: { projectId, key } } }),
    )
    const { fallbackVariant: control, variants } = row.definition as DecisionDefinition
    const counted = await count(db.pool, [row.id, projectId, query.selectorId ?? null])
    const keys = new Set([control, ...variants.map((variant) => variant.key), ...counted.keys()])
    const groupOf = (variant: string): Row => counted.get(variant) ?? { ...NOBODY, variant }
    const stats: DecisionStats = {
      key,
      control,
      mixed: [...counted.values()][0]?.mixed ?? 0,
      variants: [...keys].map((variant) => {
        const { exposures, people, converted, conversions } = groupOf(variant)
        const isControl = variant === control
        return {
          variant,
          control: isControl,
          exposures,
          people,
          converted,
          conversions,
          ...rateOf({ people, converted }),
          ...(isControl ? NOT_COMPARED : compareRates({ people, converted }, groupOf(control))),
        }
      }),
    }
    return { body: stats }
  })

const NOBODY = { exposures: 0, people: 0, mixed: 0, converted: 0, conversions: 0 }
const NOT_COMPARED = { lift: null, difference: null, differenceInterval: null, pValue: null }

const count = async (pool: Pool, values: (string | null)[]): Promise<Map<string, Row>> => {
  const { rows } = await pool.query<Row>({ name: 'decision-stats', text: COUNT, values })
  return new Map(rows.map((row) => [row.variant, row]))
}
