import { formatNumber, formatPercentage } from '../ui/format.tsx'
import { type Draft, metricKeyOf } from './draft.ts'

type Rule = Draft['rules'][number]

/** What a guard does, in words. */
export const guardSentence = (
  { metric, worseThan, action }: Rule['guards'][number],
  rule: Pick<Rule, 'variant' | 'weights' | 'ramp'>,
  { variants, fallbackVariant, metrics }: Pick<Draft, 'variants' | 'fallbackVariant' | 'metrics'>,
): string => {
  const guarded = metrics.find((one) => metricKeyOf(one) === metric)
  if (!guarded) return 'Choose one of the metrics below.'
  const shares = variants.filter(({ id }) => (rule.weights[id] ?? 1) > 0).map(({ key }) => key)
  const control =
    rule.variant || shares.includes(fallbackVariant) ? fallbackVariant : (shares[0] ?? fallbackVariant)
  const others = rule.variant ? [rule.variant] : shares.filter((key) => key !== control)
  const names = others.join(' or ')
  const direction = guarded.goal === 'up' ? 'lower' : 'higher'
  const bound = worseThan > 0 ? `more than ${formatPercentage(worseThan)} ${direction}` : direction
  const outcome = {
    pause: `the decision is turned off and everyone gets ${fallbackVariant}`,
    rollback: `nobody gets ${rule.variant || 'a variant'} by this rule any more`,
    hold: 'the ramp stays at the percentage that it has reached',
  }[action]
  return `When ${metric} is certainly ${bound} with ${names} than with ${control}, ${outcome}, until a person resumes it with a reason.`
}

/** The evidence of a stop, in words. */
export const stopSentence = ({
  metric,
  worseThan,
  variant,
  control,
  people,
  lift,
  interval,
}: {
  metric: string
  worseThan: number
  variant: string
  control: string
  people: { variant: number; control: number }
  lift: number | null
  interval: readonly number[] | null
}): string => {
  const change =
    lift === null
      ? `It did not occur with ${control}.`
      : `The change is ${signedPercent(lift)}${interval ? `, between ${interval.map(signedPercent).join(' and ')}` : ''}.`
  return `${metric} was more than ${formatPercentage(worseThan)} worse with ${variant} (${formatNumber(people.variant)} people) than with ${control} (${formatNumber(people.control)} people). ${change}`
}

const signedPercent = (part: number): string => `${part > 0 ? '+' : ''}${formatPercentage(part * 100)}`
