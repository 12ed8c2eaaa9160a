import type { DecisionRule } from '@waymark/contracts/decision-definition'
import { type DecisionResults, getDecisionResults } from '@waymark/contracts/http/decisions'
import { countingIdOf, inEnvironment } from '@waymark/domain/decision'
import { experimentResults, type SplitGroup } from '@waymark/domain/experiment'
import { disconnectSignal, type Route } from '@waymark/service-kit'
import { requireEnvironment } from '../environments/environments.ts'
import { limitConcurrency } from '../http/limit-concurrency.ts'
import { requireFound } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import {
  EXPERIMENT_TIMEOUT_MS,
  type ExposedPeople,
  type MetricSamples,
  readExperiment,
} from './decision-results-queries.ts'
import { toDecision } from './decision-rows.ts'

const LIMITS = { perProject: 2, perTenant: 4, total: 8, what: 'computations of results' }

/** The variants of a decision's splits, compared by its metrics. */
export const decisionResultsRoute = ({ projectRoute, db, eventStore, clock }: ManagementDeps): Route =>
  projectRoute(
    getDecisionResults,
    limitConcurrency(LIMITS)(async ({ projectId, key, query, request }) => {
      const late = AbortSignal.timeout(EXPERIMENT_TIMEOUT_MS)
      const events = eventStore.queriesUntil(AbortSignal.any([disconnectSignal(request), late]))
      const row = requireFound(
        await db.prisma.decision.findUnique({ where: { projectId_key: { projectId, key } } }),
      )
      const { environment } = query
      await requireEnvironment(db.prisma, projectId, environment)
      const { definition } = inEnvironment(toDecision(row), environment)
      const { metrics = [], fallbackVariant, rules } = definition
      const stored = await readExperiment(
        { pool: db.pool, events },
        {
          decisionId: row.id,
          countingId: countingIdOf(row.id, environment),
          environment,
          projectId,
          metrics,
          historyUntil: query.history ? clock() : null,
        },
      )
      const groups = groupsOf(stored.exposed, stored.rules)
      const variants = variantsOf(groups, rules)
      const control = variants.includes(fallbackVariant) ? fallbackVariant : (variants[0] ?? fallbackVariant)
      const resultsBy = (samplesOf: (stored: MetricSamples) => MetricSamples['samples']) =>
        experimentResults({
          control,
          variants: [control, ...variants.filter((variant) => variant !== control)],
          groups,
          switched: stored.switched,
          metrics: stored.metrics.map((one, index) => ({
            metric: metrics[index] as (typeof metrics)[number],
            samples: samplesOf(one),
            currencies: one.currencies,
          })),
        })
      const results = resultsBy(({ samples }) => samples)
      const times = stored.metrics[0]?.history.map(({ at }) => at) ?? []
      const history = times.map((at, index) => {
        const { metrics: earlier } = resultsBy((one) => one.history[index]?.samples ?? new Map())
        return { at: at.toISOString(), earlier }
      })
      const body: DecisionResults = {
        key,
        control,
        ...results,
        metrics: results.metrics.map((metric, index) => ({
          ...metric,
          ...(query.history && {
            history: history.map(({ at, earlier }) => ({
              at,
              variants: (earlier[index]?.variants ?? []).map(
                ({ variant, people, lift, sequentialInterval }) => ({
                  variant,
                  people,
                  lift,
                  sequentialInterval,
                }),
              ),
            })),
          }),
        })),
      }
      return { body }
    }),
  )

type Split = DecisionRule['split']

/** People by the weights that split them. A rule that its version no longer has leaves its people out. */
const groupsOf = (exposed: readonly ExposedPeople[], rules: ReadonlyMap<number, unknown>): SplitGroup[] => {
  const groups = new Map<string, { weights: Map<string, number>; people: Map<string, number> }>()
  for (const { variant, ruleId, version, people } of exposed) {
    const split = splitOf((rules.get(version) ?? []) as DecisionRule[], ruleId)
    if (!split) continue
    const weights = new Map(split.map(({ variant: name, weight }) => [name, weight]))
    const name = JSON.stringify([ruleId, [...weights].sort()])
    const group = groups.get(name) ?? { weights, people: new Map() }
    group.people.set(variant, (group.people.get(variant) ?? 0) + people)
    groups.set(name, group)
  }
  return [...groups.values()]
}

const splitOf = (rules: readonly DecisionRule[], ruleId: string | null): Split =>
  rules.find(({ id }) => id === ruleId)?.split ?? null

/** The variants of the splits, now and of people who were exposed. */
const variantsOf = (groups: readonly SplitGroup[], rules: readonly DecisionRule[]): string[] => {
  const shares = rules.flatMap(({ split }) => split ?? []).filter(({ weight }) => weight > 0)
  const names = [
    ...shares.map(({ variant }) => variant),
    ...groups.flatMap(({ weights }) =>
      [...weights].flatMap(([variant, weight]) => (weight > 0 ? variant : [])),
    ),
  ]
  return [...new Set(names)]
}
