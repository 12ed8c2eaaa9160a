import { useMemo, useState } from 'react'
import { type List, wholeList } from '../api/pages.ts'
import { Card } from '../ui/card.tsx'
import { formatCompact, formatPercent } from '../ui/format.tsx'
import { formatCompactMoney } from '../ui/money.ts'
import { Plot, type PlotLine, type PlotMark, seriesColor } from '../ui/plot.tsx'
import { type Column, DataTable } from '../ui/table.tsx'
import { useProperties } from './known-properties.ts'
import { useShowPeople } from './people-sheet.tsx'
import { typedValue } from './query-url.ts'
import { type QueryResult, zoneOf } from './run-query.ts'
import { ShowPeople } from './show-people.tsx'
import { bucketText } from './times.ts'
import { bucketRange, lineFilters, type TrendLine, trendLines } from './trend-lines.ts'

type Props = { result: QueryResult<'trends'> }

/** Number of rows of values per page. */
const PAGE = 14

/** Opens the people of a value of a line, or of the whole line. */
const usePeopleOfTrend = ({ query, range, data }: QueryResult<'trends'>, lines: readonly TrendLine[]) => {
  const show = useShowPeople()
  const { typesOf } = useProperties(undefined)
  const text = bucketText(query.interval, zoneOf(query))
  return (line: TrendLine, index?: number) => {
    const typed = (value: string) => typedValue(value, typesOf(query.breakdown ?? ''))
    const at = index === undefined ? undefined : data.buckets[index]
    show({
      title: at === undefined ? line.label : `${line.label}, ${text(at)}`,
      eventName: query.series[line.series]?.eventName,
      ...(index === undefined ? range : bucketRange(data.buckets, index, range)),
      filters: lineFilters(query, lines, line, typed),
    })
  }
}

/** The lines of a result. Points open the list of people. */
export const TrendsChart = ({
  result,
  height,
  marks,
}: Props & { height?: number; marks?: readonly PlotMark[] }) => {
  const { query, data } = result
  const zone = zoneOf(query)
  const lines = useMemo(() => trendLines(query, data), [query, data])
  const showPeople = usePeopleOfTrend(result, lines)
  const x = useMemo(() => data.buckets.map((at) => Date.parse(at) / 1000), [data])
  const drawn = useMemo(
    (): PlotLine[] => [
      ...lines.map(({ label, values, format }, color) => ({ label, values, color, format })),
      ...lines.flatMap(({ label, previousValues, format }, color) =>
        previousValues === undefined
          ? []
          : [
              {
                label: `${label}, before`,
                values: previousValues.slice(0, x.length),
                color,
                dashed: true,
                format,
              },
            ],
      ),
    ],
    [lines, x],
  )
  const text = bucketText(query.interval, zone)
  const [currency] = lines.map((line) => line.currency)
  const isMoney = currency != null && lines.every((line) => line.currency === currency)
  return (
    <Plot
      label="Chart of the values over time"
      x={x}
      timeZone={zone}
      lines={drawn}
      formatX={(index) => text(data.buckets[index] ?? '')}
      formatY={isMoney ? (value) => formatCompactMoney(value, currency) : formatCompact}
      onPoint={(line, index) => {
        const found = lines[line]
        if (found) showPeople(found, index)
      }}
      {...(height !== undefined && { height })}
      {...(marks !== undefined && { marks })}
    />
  )
}

/** The total of each line, with its color in the chart. */
export const TrendsTotals = ({ result }: Props) => {
  const { query, data } = result
  const lines = useMemo(() => trendLines(query, data), [query, data])
  const showPeople = usePeopleOfTrend(result, lines)
  const columns: Column<TrendLine>[] = [
    {
      title: 'Series',
      sort: ({ label }) => label,
      cell: (line) => (
        <span className="flex items-center gap-2">
          <span className={`size-2.5 shrink-0 rounded-full ${seriesColor(lines.indexOf(line))}`} />
          <span className="min-w-0 break-words">{line.label}</span>
        </span>
      ),
    },
    {
      title: 'Total',
      align: 'right',
      sort: ({ total }) => total,
      cell: (line) => <ShowPeople text={line.format(line.total)} onClick={() => showPeople(line)} />,
    },
    ...(query.compareTo === undefined
      ? []
      : ([
          {
            title: 'Before',
            align: 'right',
            sort: ({ previousTotal }) => previousTotal ?? null,
            cell: ({ previousTotal, format }) => (previousTotal === undefined ? '–' : format(previousTotal)),
          },
          {
            title: 'Change',
            align: 'right',
            sort: (line) => changeOf(line),
            cell: (line) => {
              const change = changeOf(line)
              return change === null ? '–' : `${change > 0 ? '+' : ''}${formatPercent(change)}`
            },
          },
        ] satisfies Column<TrendLine>[])),
  ]
  return (
    <DataTable
      label="Totals"
      list={wholeList(lines)}
      keyOf={({ label }) => label}
      columns={columns}
      empty={null}
    />
  )
}

const changeOf = ({ total, previousTotal }: TrendLine): number | null =>
  previousTotal ? (total - previousTotal) / previousTotal : null

/** Totals and all values of a result. */
export const TrendsTables = ({ result }: Props) => {
  const { query, data } = result
  const lines = useMemo(() => trendLines(query, data), [query, data])
  const showPeople = usePeopleOfTrend(result, lines)
  const [count, setCount] = useState(PAGE)
  const text = bucketText(query.interval, zoneOf(query))
  const newestFirst = data.buckets.map((_, index) => data.buckets.length - 1 - index)
  const list: List<number> = {
    ...wholeList(newestFirst.slice(0, count)),
    hasNextPage: newestFirst.length > count,
    fetchNextPage: () => setCount(count + PAGE),
  }
  const columns: Column<number>[] = [
    {
      title: 'Time',
      sort: (index) => index,
      cell: (index) => (
        <time
          dateTime={data.buckets[index]}
          title={`UTC ${data.buckets[index]}`}
          className="whitespace-nowrap tabular-nums"
        >
          {text(data.buckets[index] ?? '')}
        </time>
      ),
    },
    ...lines.map(
      (line): Column<number> => ({
        title: line.label,
        align: 'right',
        sort: (index) => line.values[index] ?? 0,
        cell: (index) => {
          const value = line.values[index] ?? 0
          if (value === 0) return <span className="text-muted">{line.format(0)}</span>
          return <ShowPeople text={line.format(value)} onClick={() => showPeople(line, index)} />
        },
      }),
    ),
  ]
  return (
    <>
      <Card title="Totals">
        <TrendsTotals result={result} />
      </Card>
      <Card title="Values">
        <DataTable label="Values" list={list} keyOf={String} columns={columns} empty={null} />
      </Card>
    </>
  )
}
