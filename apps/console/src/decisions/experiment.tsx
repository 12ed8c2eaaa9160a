import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../api/client.ts'
import { wholeList } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import { useUrlState } from '../api/url-state.ts'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { formatCount, formatNumber, formatPercent } from '../ui/format.tsx'
import { formatMoney } from '../ui/money.ts'
import { ErrorState, Notice, SkeletonLines } from '../ui/states.tsx'
import { DataTable, NarrowLine } from '../ui/table.tsx'
import { LiftHistory } from './lift-history.tsx'
import { type Interval, LiftPlot, scaleOf } from './lift-plot.tsx'
import { signed, VariantName } from './variant-name.tsx'

/** Warnings that make results unusable. */
const SERIOUS = new Set(['sample_ratio_mismatch', 'guardrail_worse'])

const rangeOf = (interval: Interval): string =>
  interval ? interval.map(signed).join(' to ') : 'too few people'

/** The variants of a split compared by the metrics of the decision, with what is wrong with the data. */
export const Experiment = ({
  decisionKey,
  environment,
  isRunning,
}: {
  decisionKey: string
  environment: string
  /** Whether a rule has a split. One that has ended is shown if people were split. */
  isRunning: boolean
}) => {
  const projectId = useProjectId()
  const [search, setSearch] = useUrlState<'history'>()
  const history = search.history === '1'
  const results = useQuery({
    queryKey: [projectId, 'decision-results', decisionKey, environment, history],
    queryFn: () =>
      unwrap(
        api.GET('/api/projects/{projectId}/decisions/{key}/results', {
          params: { path: { projectId, key: decisionKey }, query: { history, environment } },
        }),
      ),
    refetchInterval: 60_000,
    placeholderData: keepPreviousData,
  })
  const people = Object.entries(results.data?.sampleRatio.seen ?? {})
  if (!isRunning && people.length === 0) return null
  if (results.error)
    return (
      <Card title="Experiment">
        <ErrorState error={results.error} retry={() => void results.refetch()} />
      </Card>
    )
  if (!results.data)
    return (
      <Card title="Experiment">
        <SkeletonLines />
      </Card>
    )
  const { metrics, warnings } = results.data
  return (
    <Card
      title="Experiment"
      description={
        people.length > 0
          ? `People: ${people.map(([variant, count]) => `${variant} ${formatNumber(count)}`).join(', ')}`
          : 'No one was given a variant by a split yet.'
      }
      actions={
        metrics.length > 0 && (
          <Button aria-pressed={history} onClick={() => setSearch({ history: history ? '' : '1' })}>
            Over time
          </Button>
        )
      }
      className="mb-4"
    >
      <div className="flex flex-col gap-3 px-4 pb-4">
        {warnings.map(({ code, message }) => (
          <Notice key={`${code}${message}`} tone={SERIOUS.has(code) ? 'danger' : 'warning'}>
            {message}
          </Notice>
        ))}
        {metrics.length === 0 && (
          <p className="text-muted">Add metrics under “Rules and variants” to compare the variants.</p>
        )}
      </div>
      {metrics.map((metric) => {
        const { key, kind, goal, guardrail, variants, varianceReduction, currency, history: earlier } = metric
        const format = (value: number): string => {
          if (kind === 'count') return formatPercent(value)
          return currency === null ? formatNumber(value) : formatMoney(value, currency)
        }
        const scale = scaleOf(
          variants.flatMap(({ interval, sequentialInterval }) => [interval, sequentialInterval]),
        )
        return (
          <section key={key} className="border-t border-line pt-3">
            <h3 className="flex flex-wrap items-center gap-2 px-4 pb-1 font-semibold">
              {key} <Badge>{goal === 'up' ? 'more is better' : 'less is better'}</Badge>
              {guardrail && <Badge>guardrail</Badge>}
              {varianceReduction !== null && (
                <Badge>adjusted by the past, {formatPercent(varianceReduction)} less variance</Badge>
              )}
            </h3>
            <DataTable
              label={`Results of ${key}`}
              list={wholeList(variants)}
              keyOf={({ variant }) => variant}
              columns={[
                {
                  title: 'Variant',
                  cell: (row) => (
                    <>
                      <VariantName {...row} />
                      <NarrowLine>{formatCount(row.people, 'person', 'people')}</NarrowLine>
                    </>
                  ),
                },
                {
                  title: 'People',
                  align: 'right',
                  wide: true,
                  cell: ({ people: count }) => formatNumber(count),
                },
                {
                  title: kind === 'count' ? 'Share' : 'Per person',
                  align: 'right',
                  cell: ({ value }) => (value === null ? '–' : format(value)),
                },
                {
                  title: 'Lift, at any time',
                  align: 'right',
                  cell: ({ lift, control, sequentialInterval }) =>
                    control || lift === null ? (
                      '–'
                    ) : (
                      <>
                        {signed(lift)}
                        <span className="block text-muted @2xl:whitespace-nowrap">
                          {rangeOf(sequentialInterval)}
                        </span>
                      </>
                    ),
                },
                {
                  title: 'Intervals',
                  wide: true,
                  cell: ({ control, lift, interval, sequentialInterval }) =>
                    control ? null : (
                      <LiftPlot
                        scale={scale}
                        lift={lift}
                        interval={interval}
                        sequential={sequentialInterval}
                      />
                    ),
                },
                {
                  title: 'One look',
                  align: 'right',
                  wide: true,
                  cell: ({ control, interval, pValue, adjustedPValue }) =>
                    control || pValue === null ? (
                      '–'
                    ) : (
                      <>
                        p = {(adjustedPValue ?? pValue).toFixed(3)}
                        <span className="block whitespace-nowrap text-muted">{rangeOf(interval)}</span>
                      </>
                    ),
                },
              ]}
              empty={null}
            />
            {history && earlier && <LiftHistory label={`Lift of ${key} over time`} history={earlier} />}
          </section>
        )
      })}
      {metrics.length > 0 && (
        <p className="border-t border-line px-4 py-3 text-muted">
          Intervals contain the true lift 95% of the time: the thin line and “at any time” however often you
          look, the thick one and “one look” only at a time that was set before. p is adjusted for the number
          of comparisons.
        </p>
      )}
    </Card>
  )
}
