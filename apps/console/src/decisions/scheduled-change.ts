import { formatNumber, formatPercentage } from '../ui/format.tsx'
import { bodyOf, type Draft } from './draft.ts'

/** What the form of a scheduled change holds. An empty status stays as it is. */
export type Plan = { status: '' | 'active' | 'paused'; rules: Draft['rules'] }

/**
 * The change of a plan, with the fields that differ from the decision.
 * @throws Error when a condition is not JSON
 */
export const plannedChange = (
  original: Draft,
  { status, rules }: Plan,
  environment: string,
): Record<string, unknown> => {
  const before = JSON.stringify(bodyOf(original).rules)
  const after = bodyOf({ ...original, rules }).rules
  const change = {
    ...(status && { status }),
    ...(JSON.stringify(after) !== before && { rules: after }),
  }
  if (environment === 'production' || Object.keys(change).length === 0) return change
  return { environments: { [environment]: change } }
}

const STATUSES: Partial<Record<string, string>> = { active: 'turned on', paused: 'turned off' }

type Part = { status?: unknown; rules?: unknown; [field: string]: unknown }

/** A change in words, one line for each field. */
export const changeLines = ({
  status,
  rules,
  environments,
  version: _version,
  ...others
}: Part): string[] => [
  ...(typeof status === 'string' ? [STATUSES[status] ?? status] : []),
  ...(Array.isArray(rules) ? rules.map((rule, index) => `rule ${index + 1}: ${shareOf(rule as Rule)}`) : []),
  ...Object.entries((environments ?? {}) as Record<string, Part | null>).flatMap(([name, part]) =>
    part === null ? `${name}: removed` : changeLines(part).map((line) => `${name}: ${line}`),
  ),
  ...Object.entries(others).map(([name, value]) =>
    value === null || typeof value !== 'object' ? `${name}: ${value}` : name,
  ),
]

type Rule = {
  rollout?: number
  ramp?: { percentage: number }[] | null
  variant?: string | null
  split?: { variant: string; weight: number }[] | null
}

const shareOf = ({ rollout = 100, ramp, variant, split }: Rule): string => {
  const last = ramp?.at(-1)
  const people = last ? `up to ${formatPercentage(last.percentage)}` : formatPercentage(rollout)
  const shares = (split ?? []).map((one) => `${one.variant} ${formatNumber(one.weight)}`).join(', ')
  return `${people} of people get ${variant ?? shares}`
}
