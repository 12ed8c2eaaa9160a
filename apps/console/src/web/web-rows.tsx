import type { ReactNode } from 'react'
import { useUrlState } from '../api/url-state.ts'
import { Card } from '../ui/card.tsx'
import { formatNumber, formatPercent } from '../ui/format.tsx'
import { formatMoney } from '../ui/money.ts'
import { DIMENSIONS, type Dimension, type WebFilter } from './web-filters.ts'

/** A row of a list: what it is about, and how often. */
export type WebRow = {
  value: string | null
  /** Visits, or the views of a page. */
  count: number
  conversionRate?: number
  revenue?: { currency: string; amount: number }[]
}

export type WebList = {
  dimension: Dimension
  rows: readonly WebRow[]
  /** What is counted; visits unless given. */
  counted?: 'Views'
  nameOf?: (value: string) => string
}

type Selection = { filters: readonly WebFilter[]; onToggle: (filter: WebFilter) => void }

/** Lists side by side as tabs, of which one is shown. Each row is a filter for the whole page. */
export const WebLists = ({
  title,
  name,
  lists,
  ...selection
}: Selection & {
  title: string
  /** The parameter of the URL that keeps the tab. */
  name: string
  lists: readonly [WebList, ...WebList[]]
}) => {
  const [search, set] = useUrlState<string>()
  const shown = lists.find(({ dimension }) => dimension === search[name]) ?? lists[0]
  return (
    <Card
      title={title}
      padded
      actions={
        lists.length > 1 && (
          <fieldset aria-label={title} className="flex gap-1">
            {lists.map(({ dimension }) => (
              <button
                key={dimension}
                type="button"
                aria-pressed={dimension === shown.dimension}
                onClick={() => set({ [name]: dimension === lists[0].dimension ? '' : dimension })}
                className="rounded-md px-2 py-0.5 text-muted hover:bg-subtle hover:text-text aria-pressed:bg-subtle aria-pressed:font-medium aria-pressed:text-text"
              >
                {DIMENSIONS[dimension]}
              </button>
            ))}
          </fieldset>
        )
      }
    >
      <Rows list={shown} {...selection} />
    </Card>
  )
}

const Rows = ({ list, filters, onToggle }: Selection & { list: WebList }) => {
  const { dimension, rows, counted = 'Visits', nameOf = (value) => value } = list
  if (rows.length === 0) return <p className="text-muted">Nothing in this time.</p>
  const most = Math.max(1, ...rows.map(({ count }) => count))
  const hasRates = rows.some(({ conversionRate = 0 }) => conversionRate > 0)
  const hasRevenue = rows.some(({ revenue = [] }) => revenue.length > 0)
  return (
    <table className="w-full" aria-label={DIMENSIONS[dimension]}>
      <thead>
        <tr className="text-muted">
          <th scope="col" className="pb-1 text-left font-normal">
            {DIMENSIONS[dimension]}
          </th>
          <th scope="col" className="pb-1 pl-3 text-right font-normal">
            {counted}
          </th>
          {hasRates && (
            <th scope="col" className="pb-1 pl-3 text-right font-normal">
              Converted
            </th>
          )}
          {hasRevenue && (
            <th scope="col" className="hidden pb-1 pl-3 text-right font-normal sm:table-cell">
              Revenue
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ value, count, conversionRate = 0, revenue = [] }) => {
          const text = value === null ? NAMES_OF_NONE[dimension] : nameOf(value)
          const isOn = filters.some((one) => one[0] === dimension && one[1] === value)
          return (
            <tr key={value}>
              <td className="relative w-full max-w-0 py-0.5">
                <Bar share={count / most} />
                <button
                  type="button"
                  aria-pressed={isOn}
                  title={text}
                  onClick={() => onToggle([dimension, value])}
                  className="relative block w-full truncate rounded px-2 py-1 text-left hover:underline aria-pressed:font-semibold"
                >
                  {text}
                </button>
              </td>
              <td className="py-0.5 pl-3 text-right tabular-nums">{formatNumber(count)}</td>
              {hasRates && (
                <td className="py-0.5 pl-3 text-right tabular-nums">{formatPercent(conversionRate)}</td>
              )}
              {hasRevenue && (
                <td className="hidden py-0.5 pl-3 text-right tabular-nums sm:table-cell">
                  {formatRevenue(revenue)}
                </td>
              )}
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}

/** The amounts in all currencies. */
export const formatRevenue = (revenue: readonly { currency: string; amount: number }[]): string =>
  revenue.map(({ amount, currency }) => formatMoney(amount, currency)).join(' + ') || '–'

/** How a value that is not known is called. */
const NAMES_OF_NONE: Record<Dimension, ReactNode & string> = {
  'context.path': 'Unknown page',
  'visit.entryPage': 'Unknown page',
  'visit.exitPage': 'Unknown page',
  'visit.channel': 'Unknown',
  'visit.source': 'Direct or unknown',
  'visit.campaign': 'Without campaign',
  'visit.country': 'Unknown country',
  'visit.browser': 'Unknown browser',
  'visit.os': 'Unknown system',
  'visit.device': 'Unknown device',
}

/** Behind a text: the policy of the console allows no style attribute, so a progress element draws it. */
const Bar = ({ share }: { share: number }) => (
  <progress
    aria-hidden="true"
    value={share}
    max={1}
    className="absolute inset-y-0.5 left-0 h-[calc(100%-0.25rem)] w-full overflow-hidden rounded-md bg-transparent [&::-moz-progress-bar]:bg-accent-soft [&::-webkit-progress-bar]:bg-transparent [&::-webkit-progress-value]:rounded-md [&::-webkit-progress-value]:bg-accent-soft"
  />
)
