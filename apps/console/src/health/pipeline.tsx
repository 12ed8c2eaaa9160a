import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import type { PipelineStats, WaymarkEvent } from '../api/types.ts'
import { Badge } from '../ui/badge.tsx'
import { Card } from '../ui/card.tsx'
import { formatDuration } from '../ui/duration.ts'
import { formatCount, formatNumber } from '../ui/format.tsx'
import { Icon } from '../ui/icon.tsx'
import { ErrorState, Skeleton } from '../ui/states.tsx'

/** The maximum counts of the API. */
const MAX_FAILURES = 1_000
const MAX_WAITING = 100_000
/** Fewer records than this wait for a moment even in a healthy pipeline. */
const NORMAL_LAG = 1_000
const NORMAL_WAIT_S = 10
const MAX_DELAY_MS = 86_400_000

const countText = (count: number, max: number): string =>
  count >= max ? `${formatNumber(max)}+` : count === 0 ? 'none' : formatNumber(count)

/** A line with its value. It leads to a page if it has one. */
const Line = ({ name, good, value }: { name: string; good: boolean; value: ReactNode }) => (
  <>
    <Icon name={good ? 'check' : 'alert'} className={good ? 'text-accent-text' : 'text-warning'} />
    <span className="min-w-0 grow">{name}</span>
    <Badge tone={good ? 'good' : 'warning'}>{value}</Badge>
  </>
)

const LINE = '-mx-2 flex items-center gap-2 rounded-lg px-2 py-1.5'
/** The number of lines, for as many while they load. */
const LINES = 5

/** The lag of all groups together, and of each on request. */
const Lag = ({ groups }: { groups: PipelineStats['consumerGroups'] }) => {
  if (groups === null)
    return (
      <div className={LINE}>
        <Line name="Consumer lag" good={false} value="queue does not answer" />
      </div>
    )
  const total = groups.reduce((sum, { lag }) => sum + lag, 0)
  return (
    <details>
      <summary className={`${LINE} cursor-pointer hover:bg-subtle`}>
        <Line
          name="Consumer lag"
          good={total < NORMAL_LAG}
          value={total === 0 ? 'none' : formatCount(total, 'record')}
        />
        <Icon name="chevron" className="text-muted" />
      </summary>
      <table className="mt-1 mb-2 w-full" aria-label="Lag of each consumer group">
        <thead>
          <tr className="text-left text-muted">
            <th scope="col" className="font-normal">
              Consumer group
            </th>
            <th scope="col" className="text-right font-normal">
              Records behind
            </th>
          </tr>
        </thead>
        <tbody>
          {groups.map(({ group, topic, lag }) => (
            <tr key={group}>
              <td className="py-0.5 font-mono break-all" title={`reads ${topic}`}>
                {group}
              </td>
              <td className="py-0.5 text-right tabular-nums">{formatNumber(lag)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  )
}

const Delay = ({ latest }: { latest: WaymarkEvent | undefined }) => {
  const delayMs = latest ? Date.parse(latest.receivedAt) - Date.parse(latest.timestamp) : 0
  return (
    <>
      <Icon name="live" className="text-accent-text" />
      <span className="grow">Latest event took</span>
      <Badge tone="good">
        {latest ? formatDuration(Math.max(0, Math.min(delayMs, MAX_DELAY_MS)) / 1000) : '–'}
      </Badge>
    </>
  )
}

/** The state of the pipeline: lag, outbox, dead letters and rejected events. */
export const Pipeline = () => {
  const projectId = useProjectId()
  const path = { projectId }
  const { data, error, refetch } = useQuery({
    queryKey: [projectId, 'health'],
    queryFn: async () => {
      const [pipeline, latest] = await Promise.all([
        unwrap(api.GET('/api/projects/{projectId}/stats/pipeline', { params: { path } })),
        unwrap(api.GET('/api/projects/{projectId}/events', { params: { path, query: { limit: 1 } } })),
      ])
      return { ...pipeline, latest: latest.data[0] }
    },
    refetchInterval: 10_000,
  })
  if (error)
    return (
      <Card title="Pipeline">
        <ErrorState error={error} retry={() => void refetch()} />
      </Card>
    )
  if (!data)
    return (
      <Card title="Pipeline" padded>
        <div role="status" aria-label="Loading" className="flex flex-col gap-1">
          {Array.from({ length: LINES }, (_, line) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all the same
            <div key={line} className={LINE}>
              <Skeleton className="h-[1lh] w-full" />
            </div>
          ))}
        </div>
      </Card>
    )
  const { records, oldestSeconds } = data.outbox
  const failures = [
    { name: 'Rejected events', count: data.rejectedEvents, to: '/p/$projectId/catalog/rejected' },
    { name: 'Dead letters', count: data.deadLetters, to: '/p/$projectId/catalog/dead-letters' },
  ] as const
  return (
    <Card title="Pipeline" padded>
      <ul className="flex flex-col gap-1">
        <li>
          <Lag groups={data.consumerGroups} />
        </li>
        <li
          className={LINE}
          title="Records that wait to be published, such as events that arrived while the queue was unavailable"
        >
          <Line
            name="Waiting in the outbox"
            good={records === 0 || oldestSeconds < NORMAL_WAIT_S}
            value={
              records === 0
                ? 'none'
                : `${countText(records, MAX_WAITING)}, up to ${formatDuration(oldestSeconds)} old`
            }
          />
        </li>
        {failures.map(({ name, count, to }) => (
          <li key={name}>
            <Link to={to} params={path} className={`${LINE} hover:bg-subtle`}>
              <Line name={name} good={count === 0} value={countText(count, MAX_FAILURES)} />
            </Link>
          </li>
        ))}
        <li className={LINE}>
          <Delay latest={data.latest} />
        </li>
      </ul>
    </Card>
  )
}
