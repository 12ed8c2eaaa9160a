import type { DecisionDefinition } from '@waymark/contracts/decision-definition'
import { type DecisionStats, getDecisionStats } from '@waymark/contracts/http/decisions'
import { compareRates, countingIdOf, rateOf } from '@waymark/domain/decision'
import type { Route } from '@waymark/service-kit'
import { requireEnvironment } from '../environments/environments.ts'
import { requireFound } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { countByVariant, type VariantCounts } from './decision-stats-queries.ts'

/** Exposures, people and conversions by variant, compared with the fallback variant. */
export const decisionStatsRoute = ({ projectRoute, db }: ManagementDeps): Route =>
  projectRoute(getDecisionStats, async ({ projectId, key, query }) => {
    const row = requireFound(
      await db.prisma.decision.findUnique({ where: { projectId_key: { projectId, key } } }),
    )
    await requireEnvironment(db.prisma, projectId, query.environment)
    const { fallbackVariant: control, variants } = row.definition as DecisionDefinition
    const counted = await countByVariant(db.pool, {
      countingId: countingIdOf(row.id, query.environment),
      projectId,
      selectorId: query.selectorId ?? null,
    })
    const keys = new Set([control, ...variants.map((variant) => variant.key), ...counted.keys()])
    const groupOf = (variant: string): VariantCounts => counted.get(variant) ?? { ...NOBODY, variant }
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
