import type { Alert, AlertEvaluation } from '../api/types.ts'
import { Badge } from '../ui/badge.tsx'
import { formatNumber } from '../ui/format.tsx'

const TONES = { ok: 'good', firing: 'danger', noData: 'neutral' } as const
const LABELS = { ok: 'ok', firing: 'fires', noData: 'no data' } as const

/** Whether an alert fires, and whether it is muted. */
export const AlertState = ({ alert }: { alert: Pick<Alert, 'state'> & Partial<Alert> }) => {
  const { state, mutedUntil } = alert
  return (
    <span className="inline-flex flex-wrap gap-1">
      <Badge tone={TONES[state]}>{LABELS[state]}</Badge>
      {isMuted(mutedUntil) && <Badge tone="warning">muted</Badge>}
    </span>
  )
}

/** Whether a time until which an alert is muted is still to come. */
export const isMuted = (until: string | null | undefined): boolean =>
  until != null && Date.parse(until) > Date.now()

/** The value of an interval. */
export const valueText = (value: number | null): string => (value === null ? '–' : formatNumber(value))

const WAYS = { up: ' up', down: ' down', either: '' } as const

/** When an alert fires, in words. */
export const conditionText = ({ condition, interval }: Pick<Alert, 'condition' | 'interval'>): string => {
  const { type, value = 0, direction = 'either' } = condition
  const rule = {
    above: `above ${formatNumber(value)}`,
    below: `below ${formatNumber(value)}`,
    changedBy: `changed by ${formatNumber(value)} %${WAYS[direction]}`,
    unusual: `unusual${WAYS[direction]}`,
  }[type]
  return `${rule}, each ${interval}`
}

/** What a value was compared with. */
export const comparisonText = (
  { expected, deviation }: Pick<AlertEvaluation, 'expected' | 'deviation'>,
  type: Alert['condition']['type'],
): string => {
  if (expected === null || deviation === null) return '–'
  const unit = type === 'changedBy' ? '%' : 'deviations'
  return `${formatNumber(expected)} (${deviation > 0 ? '+' : ''}${deviation.toFixed(1)} ${unit})`
}
