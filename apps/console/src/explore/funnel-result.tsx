import { wholeList } from '../api/pages.ts'
import { Card } from '../ui/card.tsx'
import { formatDuration } from '../ui/duration.ts'
import { formatNumber, formatPercent } from '../ui/format.tsx'
import { type Column, DataTable } from '../ui/table.tsx'
import { useShowPeople } from './people-sheet.tsx'
import type { Results } from './query-types.ts'
import type { QueryResult } from './run-query.ts'
import { ShowPeople } from './show-people.tsx'
import { groupName } from './trend-lines.ts'

type Props = { result: QueryResult<'funnel'> }
type Step = Results['funnel']['steps'][number]
type Group = NonNullable<Results['funnel']['groups']>[number]

const BAR =
  'h-7 w-full overflow-hidden rounded-md [&::-moz-progress-bar]:bg-series-1 [&::-webkit-progress-bar]:bg-subtle [&::-webkit-progress-value]:rounded-md [&::-webkit-progress-value]:bg-series-1'

/** The steps as bars, which link to the people with the event. */
export const FunnelBars = ({ result: { query, range, data } }: Props) => {
  const show = useShowPeople()
  const last = data.steps.at(-1)
  return (
    <>
      {last && (
        <p className="mb-4">
          <span className="text-[1.65rem] leading-tight font-semibold tracking-tight tabular-nums">
            {formatPercent(last.rateFromFirst)}
          </span>{' '}
          <span className="text-muted">come to the last step</span>
        </p>
      )}
      <ol aria-label="Steps" className="flex flex-col gap-4">
        {data.steps.map((step, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: steps differ by their place only
          <li key={index} className="flex flex-col gap-1">
            <span className="flex flex-wrap items-baseline justify-between gap-x-3">
              <button
                type="button"
                title="Show the people with this event"
                className="min-w-0 rounded text-left font-medium break-words hover:underline"
                onClick={() =>
                  show({
                    title: `${step.eventName} in this time`,
                    eventName: step.eventName,
                    ...range,
                    filters: query.steps[index]?.filters ?? [],
                  })
                }
              >
                {index + 1}. {step.eventName}
              </button>
              <span className="tabular-nums">
                {formatNumber(step.people)} <span className="text-muted">{peopleOf(step.people)}</span> ·{' '}
                {formatPercent(step.rateFromFirst)}
              </span>
            </span>
            <progress aria-hidden="true" value={step.rateFromFirst} max={1} className={BAR} />
            {index > 0 && (
              <span className="text-muted">
                {formatPercent(step.rateFromPrevious)} of the step before
                {step.medianSecondsFromPrevious !== null &&
                  `, after ${formatDuration(step.medianSecondsFromPrevious)} (median)`}
              </span>
            )}
          </li>
        ))}
      </ol>
    </>
  )
}

const peopleOf = (count: number): string => (count === 1 ? 'person' : 'people')

/** Bars and tables of a funnel. */
export const FunnelResult = ({ result }: Props) => {
  const { query, range, data } = result
  const show = useShowPeople()
  const columns: Column<{ step: Step; index: number }>[] = [
    {
      title: 'Step',
      cell: ({ step, index }) => `${index + 1}. ${step.eventName}`,
      sort: ({ index }) => index,
    },
    {
      title: 'People',
      align: 'right',
      sort: ({ step }) => step.people,
      cell: ({ step, index }) => (
        <ShowPeople
          text={formatNumber(step.people)}
          onClick={() =>
            show({
              title: `${step.eventName} in this time`,
              eventName: step.eventName,
              ...range,
              filters: query.steps[index]?.filters ?? [],
            })
          }
        />
      ),
    },
    {
      title: 'Of the first',
      align: 'right',
      sort: ({ step }) => step.rateFromFirst,
      cell: ({ step }) => formatPercent(step.rateFromFirst),
    },
    {
      title: 'Of the one before',
      align: 'right',
      wide: true,
      sort: ({ step }) => step.rateFromPrevious,
      cell: ({ step }) => formatPercent(step.rateFromPrevious),
    },
    {
      title: 'Median time',
      align: 'right',
      sort: ({ step }) => step.medianSecondsFromPrevious,
      cell: ({ step }) =>
        step.medianSecondsFromPrevious === null ? '–' : formatDuration(step.medianSecondsFromPrevious),
    },
  ]
  const groupColumns: Column<Group>[] = [
    {
      title: query.breakdown ?? 'Group',
      sort: ({ group, other }) => groupName(group, other),
      cell: ({ group, other }) => groupName(group, other),
    },
    ...data.steps.map(
      ({ eventName }, index): Column<Group> => ({
        title: `${index + 1}. ${eventName}`,
        align: 'right',
        sort: ({ steps }) => steps[index]?.people ?? 0,
        cell: ({ steps }) => {
          const step = steps[index]
          if (!step) return '–'
          return (
            <>
              {formatNumber(step.people)}
              {index > 0 && <span className="block text-muted">{formatPercent(step.rateFromFirst)}</span>}
            </>
          )
        },
      }),
    ),
  ]
  return (
    <>
      <Card title="Funnel" padded>
        <FunnelBars result={result} />
      </Card>
      <Card title="Steps">
        <DataTable
          label="Steps"
          list={wholeList(data.steps.map((step, index) => ({ step, index })))}
          keyOf={({ index }) => String(index)}
          columns={columns}
          empty={null}
        />
      </Card>
      {data.groups && (
        <Card title="Groups" description="By the value at the first step.">
          <DataTable
            label="Groups"
            list={wholeList(data.groups)}
            keyOf={({ group, other }) => JSON.stringify([group, other])}
            columns={groupColumns}
            empty={<p className="p-4 text-muted">No one took the first step.</p>}
          />
        </Card>
      )}
    </>
  )
}
