import { ALPHA, compareMeans, type MeanComparison } from './compare-means.ts'
import { adjustedEstimates, type Sample } from './estimate.ts'
import { adjustByHolm } from './holm.ts'
import { checkSampleRatio, type SampleRatio, type SplitGroup } from './sample-ratio.ts'

/** Below this p-value the split of people is reported as broken. */
export const SAMPLE_RATIO_ALPHA = 0.001
/** Variants with fewer people are reported as too small. */
export const MIN_PEOPLE = 100
/** The part of people with several variants from which on it is reported. */
const MAX_SWITCHED = 0.01

type Metric = { key: string; goal: 'up' | 'down'; guardrail: boolean }

/** What is known of an experiment. */
export type ExperimentData<M extends Metric> = {
  /** The variant that the others are compared with. */
  control: string
  /** All variants, in the order of the answer. */
  variants: readonly string[]
  /** People by the weights that split them. */
  groups: readonly SplitGroup[]
  /** People who had a second variant after their first one. */
  switched: number
  /**
   * `samples` by variant; a variant without people may be missing. `currencies` are those of the values, if they are amounts
   * of money in minor units, with null for amounts without a currency.
   */
  metrics: readonly {
    metric: M
    samples: ReadonlyMap<string, Sample>
    currencies?: readonly (string | null)[]
  }[]
}

/** A variant's result by one metric. */
export type VariantResult = MeanComparison & {
  variant: string
  control: boolean
  /** People with a value. */
  people: number
  /** The mean per person. Null without people. */
  value: number | null
  /** The p-value adjusted for the number of comparisons. Null for a guardrail. */
  adjustedPValue: number | null
}

/** Something that a reader of the results has to know. */
export type ExperimentWarning = { code: string; message: string }

export type ExperimentResults<M extends Metric> = {
  metrics: (M & {
    /** The currency of all values; null if they are not money, or in several currencies. */
    currency: string | null
    varianceReduction: number | null
    variants: VariantResult[]
  })[]
  sampleRatio: SampleRatio
  warnings: ExperimentWarning[]
}

/** Compares the variants of an experiment with its control by each metric, and says what is wrong with the data. */
export const experimentResults = <M extends Metric>(data: ExperimentData<M>): ExperimentResults<M> => {
  const { control, variants } = data
  const results = data.metrics.map(({ metric, samples, currencies = [] }) => {
    const ofVariants = variants.map((variant) => samples.get(variant) ?? NOBODY)
    const { estimates, varianceReduction } = adjustedEstimates(ofVariants)
    const controls = estimates[variants.indexOf(control)] ?? null
    return {
      ...metric,
      currency: currencies.length === 1 ? (currencies[0] ?? null) : null,
      varianceReduction,
      variants: ofVariants.map((sample, index): VariantResult => {
        const variant = variants[index] as string
        const isControl = variant === control
        return {
          variant,
          control: isControl,
          people: sample.people,
          value: sample.people === 0 ? null : sample.sum / sample.people,
          ...(isControl ? compareMeans(null, null) : compareMeans(estimates[index] ?? null, controls)),
          adjustedPValue: null,
        }
      }),
    }
  })
  const compared = results
    .filter(({ guardrail }) => !guardrail)
    .flatMap((metric) => metric.variants.filter((one) => !one.control).map((result) => ({ metric, result })))
  for (const [index, adjusted] of adjustByHolm(compared.map(({ result }) => result.pValue)).entries())
    (compared[index] as (typeof compared)[number]).result.adjustedPValue = adjusted
  const sampleRatio = checkSampleRatio(data.groups)
  return {
    metrics: results,
    sampleRatio,
    warnings: [
      ...sampleRatioWarnings(sampleRatio),
      ...splitWarnings(data.groups),
      ...switchWarnings(data),
      ...sizeWarnings(variants, data.groups),
      ...guardrailWarnings(results),
      ...currencyWarnings(data.metrics),
      ...comparisonWarnings(compared.map(({ metric, result }) => ({ key: metric.key, ...result }))),
    ],
  }
}

const NOBODY: Sample = { people: 0, sum: 0, sumOfSquares: 0, past: null }

const sampleRatioWarnings = ({ pValue, expected, seen }: SampleRatio): ExperimentWarning[] => {
  if (pValue === null || pValue >= SAMPLE_RATIO_ALPHA) return []
  const counts = Object.keys(expected).map(
    (variant) => `${variant}: ${seen[variant]} instead of about ${Math.round(expected[variant] ?? 0)}`,
  )
  const message = `The numbers of people do not match the weights of the split (${counts.join(', ')}). Something removes or adds people of one variant. Do not use the results until the cause is found.`
  return [{ code: 'sample_ratio_mismatch', message }]
}

const splitWarnings = (groups: readonly SplitGroup[]): ExperimentWarning[] => {
  const splits = new Set(groups.map(({ weights }) => sharesOf(weights)))
  const message =
    'People were split by different weights, in several rules or before a change. If these groups of people differ, so do the variants. Start a new decision to compare them.'
  return splits.size > 1 ? [{ code: 'different_splits', message }] : []
}

const sharesOf = (weights: ReadonlyMap<string, number>): string => {
  const total = weights.values().reduce((sum, weight) => sum + weight, 0)
  const shares = [...weights].map(([variant, weight]) => [variant, (weight / total).toFixed(6)])
  return JSON.stringify(shares.sort())
}

const switchWarnings = ({ switched, groups }: Pick<ExperimentData<Metric>, 'switched' | 'groups'>) => {
  const people = groups.reduce((total, group) => total + peopleOf(group), 0)
  const message = `${switched} of ${people} people had another variant later. They count for their first one, which makes differences look smaller.`
  return switched > people * MAX_SWITCHED ? [{ code: 'several_variants', message }] : []
}

const peopleOf = ({ people }: SplitGroup): number =>
  people.values().reduce((total, count) => total + count, 0)

const sizeWarnings = (variants: readonly string[], groups: readonly SplitGroup[]): ExperimentWarning[] => {
  const small = variants.filter(
    (variant) => groups.reduce((total, { people }) => total + (people.get(variant) ?? 0), 0) < MIN_PEOPLE,
  )
  const message = `Fewer than ${MIN_PEOPLE} people had ${small.join(', ')}. Intervals and p-values are not reliable yet.`
  return small.length > 0 ? [{ code: 'too_few_people', message }] : []
}

const guardrailWarnings = (
  metrics: readonly (Metric & { variants: readonly VariantResult[] })[],
): ExperimentWarning[] =>
  metrics.flatMap(({ key, goal, guardrail, variants }) =>
    variants
      .filter(({ interval }) => guardrail && interval && (goal === 'up' ? interval[1] < 0 : interval[0] > 0))
      .map(({ variant, lift }) => ({
        code: 'guardrail_worse',
        message: `The guardrail ${key} is worse with ${variant}: ${percent(lift ?? 0)}, and its interval does not contain 0.`,
      })),
  )

const percent = (part: number): string => `${part > 0 ? '+' : ''}${(part * 100).toFixed(1)} %`

const currencyWarnings = (
  metrics: readonly { metric: Metric; currencies?: readonly (string | null)[] }[],
): ExperimentWarning[] =>
  metrics
    .map(({ metric, currencies = [] }) => ({ metric, currencies: currencies.flatMap((one) => one ?? []) }))
    .filter(({ currencies }) => currencies.length > 1)
    .map(({ metric: { key }, currencies }) => ({
      code: 'several_currencies',
      message: `The amounts of ${key} are in ${currencies.join(', ')} and are added as if they were one currency.`,
    }))

const comparisonWarnings = (
  compared: readonly Pick<VariantResult & { key: string }, 'key' | 'variant' | 'pValue' | 'adjustedPValue'>[],
): ExperimentWarning[] => {
  const tested = compared.filter(({ pValue }) => pValue !== null)
  if (tested.length < 2) return []
  const lost = tested.filter(
    ({ pValue, adjustedPValue }) => (pValue ?? 1) < ALPHA && (adjustedPValue ?? 1) >= ALPHA,
  )
  const names = lost.map(({ key, variant }) => `${key} of ${variant}`)
  const effect =
    names.length > 0
      ? `After the adjustment these are not significant: ${names.join(', ')}.`
      : 'The adjustment changes no conclusion.'
  const message = `${tested.length} comparisons were made, of which one in twenty is significant by chance. Use the adjusted p-values (Holm). ${effect}`
  return [{ code: 'several_comparisons', message }]
}
