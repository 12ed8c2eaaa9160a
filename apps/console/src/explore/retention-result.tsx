import { useMemo } from 'react'
import { wholeList } from '../api/pages.ts'
import { Card } from '../ui/card.tsx'
import { formatNumber, formatPercent } from '../ui/format.tsx'
import { Plot } from '../ui/plot.tsx'
import { type Column, DataTable } from '../ui/table.tsx'
import { type Answered, zoneOf } from './ask.ts'
import { useShowPeople } from './people-sheet.tsx'
import { meanRates, retentionRates, type ShownCohort } from './retention-rates.ts'
import { ShowPeople } from './show-people.tsx'
import { bucketText } from './times.ts'

type Props = { answered: Answered<'retention'> }

/** Darker for higher rates, with readable text. */
const SHADES = ['', 'bg-series-1/10', 'bg-series-1/20', 'bg-series-1/30', 'bg-series-1/40']
const shade = (rate: number): string => SHADES[Math.ceil(rate * (SHADES.length - 1))] ?? ''

const useCohorts = ({ query, answer }: Answered<'retention'>): ShownCohort[] =>
  useMemo(
    () =>
      retentionRates(
        answer.cohorts,
        query.interval === 'week' || query.interval === 'month' ? query.interval : 'day',
        Date.now(),
      ),
    [query, answer],
  )

/** The rate of all people, by period. */
export const RetentionChart = ({ answered, height }: Props & { height?: number }) => {
  const cohorts = useCohorts(answered)
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
      formatX={(place) => periodName(answered.query.interval, place)}
      formatY={formatPercent}
      {...(height !== undefined && { height })}
    />
  )
}

const periodName = (interval: string, period: number): string =>
  `${interval.slice(0, 1).toUpperCase()}${interval.slice(1)} ${period}`

/** The cohorts with their rate in each period. */
export const RetentionTable = ({ answered }: Props) => {
  const { query, range, answer } = answered
  const show = useShowPeople()
  const cohorts = useCohorts(answered)
  const text = bucketText(query.interval, zoneOf(query))
  const endOf = ({ at }: ShownCohort): string => {
    const place = answer.cohorts.findIndex((cohort) => cohort.at === at)
    return answer.cohorts[place + 1]?.at ?? range.to
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
              ...{ title: `${query.startEvent}, ${text(cohort.at)}`, eventName: query.startEvent },
              ...{ from: cohort.at < range.from ? range.from : cohort.at, to: endOf(cohort) },
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
              title={`${formatNumber(returned[period] ?? 0)} people`}
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
      empty={<p className="p-4 text-muted">Nobody began in this time.</p>}
    />
  )
}

/** Chart and table of a retention query. */
export const RetentionResult = ({ answered }: Props) => (
  <>
    <Card title="Who comes back" padded>
      <RetentionChart answered={answered} />
    </Card>
    <Card title="Cohorts" description="By when people began; the share of them who came back.">
      <RetentionTable answered={answered} />
    </Card>
  </>
)
