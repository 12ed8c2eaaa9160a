import { useMemo } from 'react'
import { wholeList } from '../api/pages.ts'
import { Card } from '../ui/card.tsx'
import { formatCount, formatNumber, formatPercent } from '../ui/format.tsx'
import { Plot } from '../ui/plot.tsx'
import { type Column, DataTable } from '../ui/table.tsx'
import { useShowPeople } from './people-sheet.tsx'
import { meanRates, retentionRates, type ShownCohort } from './retention-rates.ts'
import { type QueryResult, zoneOf } from './run-query.ts'
import { ShowPeople } from './show-people.tsx'
import { bucketText } from './times.ts'

type Props = { result: QueryResult<'retention'> }

/** Darker for higher rates, with readable text. */
const SHADES = ['', 'bg-series-1/10', 'bg-series-1/20', 'bg-series-1/30', 'bg-series-1/40']
const shade = (rate: number): string => SHADES[Math.ceil(rate * (SHADES.length - 1))] ?? ''

const useCohorts = ({ query, data }: QueryResult<'retention'>): ShownCohort[] =>
  useMemo(
    () =>
      retentionRates(
        data.cohorts,
        query.interval === 'week' || query.interval === 'month' ? query.interval : 'day',
        Date.now(),
      ),
    [query, data],
  )

/** The rate of all people, by period. */
export const RetentionChart = ({ result, height }: Props & { height?: number }) => {
  const cohorts = useCohorts(result)
  const { x, lines } = useMemo(() => {
    const values = meanRates(cohorts)
    return {
      x: values.map((_, period) => period),
      lines: [{ label: 'Came back', values, color: 0, format: formatPercent }],
    }
  }, [cohorts])
  return (
    <Plot
      label="Chart of the share of people who came back"
      x={x}
      lines={lines}
      formatX={(index) => periodName(result.query.interval, index)}
      formatY={formatPercent}
      {...(height !== undefined && { height })}
    />
  )
}

const periodName = (interval: string, period: number): string =>
  `${interval.slice(0, 1).toUpperCase()}${interval.slice(1)} ${period}`

/** The cohorts with their rate in each period. */
export const RetentionTable = ({ result }: Props) => {
  const { query, range, data } = result
  const show = useShowPeople()
  const cohorts = useCohorts(result)
  const text = bucketText(query.interval, zoneOf(query))
  const endOf = ({ at }: ShownCohort): string => {
    const index = data.cohorts.findIndex((cohort) => cohort.at === at)
    return data.cohorts[index + 1]?.at ?? range.to
  }
  const columns: Column<ShownCohort>[] = [
    {
      title: 'Began',
      sort: ({ at }) => at,
      cell: ({ at }) => (
        <time dateTime={at} title={`UTC ${at}`} className="whitespace-nowrap">
          {text(at)}
        </time>
      ),
    },
    {
      title: 'People',
      align: 'right',
      sort: ({ size }) => size,
      cell: (cohort) => (
        <ShowPeople
          text={formatNumber(cohort.size)}
          onClick={() =>
            show({
              title: `${query.startEvent}, ${text(cohort.at)}`,
              eventName: query.startEvent,
              from: cohort.at < range.from ? range.from : cohort.at,
              to: endOf(cohort),
            })
          }
        />
      ),
    },
    ...(cohorts[0]?.rates ?? []).map(
      (_, period): Column<ShownCohort> => ({
        title: periodName(query.interval, period),
        align: 'right',
        sort: ({ rates }) => rates[period] ?? null,
        cell: ({ rates, returned }) => {
          const rate = rates[period]
          if (rate == null) return <span className="text-muted">–</span>
          return (
            <span
              title={formatCount(returned[period] ?? 0, 'person', 'people')}
              className={`-mx-2 block rounded-md px-2 py-1 ${shade(rate)}`}
            >
              {formatPercent(rate)}
            </span>
          )
        },
      }),
    ),
  ]
  return (
    <DataTable
      label="Cohorts"
      list={wholeList(cohorts)}
      keyOf={({ at }) => at}
      columns={columns}
      empty={<p className="p-4 text-muted">No one began in this time.</p>}
    />
  )
}

/** Chart and table of a retention query. */
export const RetentionResult = ({ result }: Props) => (
  <>
    <Card title="Who comes back" padded>
      <RetentionChart result={result} />
    </Card>
    <Card title="Cohorts" description="By when people began; the share of them who came back.">
      <RetentionTable result={result} />
    </Card>
  </>
)
