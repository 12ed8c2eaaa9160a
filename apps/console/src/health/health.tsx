import { useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import type { DeliveryStats } from '../api/types.ts'
import { Badge } from '../ui/badge.tsx'
import { Card, PageHeader } from '../ui/card.tsx'
import { formatDuration } from '../ui/duration.ts'
import { formatCount, formatNumber } from '../ui/format.tsx'
import { Icon } from '../ui/icon.tsx'
import { EmptyState, ErrorState, SkeletonLines } from '../ui/states.tsx'
import { Pipeline } from './pipeline.tsx'

const REFRESH_MS = 10_000
/** Samples wait for some seconds also when all is well. */
const NORMAL_WAIT_S = 60

/** What the last day shows, in words. */
const Verdict = ({ lastDay, waiting, oneIn }: Pick<DeliveryStats, 'lastDay' | 'waiting' | 'oneIn'>) => {
  const { checked, missing, duplicated, delay } = lastDay
  const isGood = missing + duplicated === 0
  return (
    <div className="flex items-start gap-3">
      <Icon name={isGood ? 'check' : 'alert'} className={isGood ? 'text-accent-text' : 'text-danger'} />
      <div className="flex min-w-0 flex-col gap-1">
        <p className="font-medium">
          Checked {formatCount(checked, 'event')} of the last day: {formatNumber(missing)} missing,{' '}
          {formatNumber(duplicated)} stored twice.
        </p>
        {delay && (
          <p>
            Half of them could be read within {formatDuration(delay.p50)}, and 99 % within{' '}
            {formatDuration(delay.p99)}.
          </p>
        )}
        {waiting.oldestSeconds > NORMAL_WAIT_S && (
          <p>
            {formatCount(waiting.events, 'event')} {waiting.events === 1 ? 'waits' : 'wait'} for a store or
            the queue, the oldest for {formatDuration(waiting.oldestSeconds)}. They are not lost.
          </p>
        )}
        {!isGood && (
          <p>
            That should never happen. The log of the persistence consumer has the keys of these events, and
            the runbooks WaymarkEventsAreMissing and WaymarkEventsAreStoredTwice say what to look for.
          </p>
        )}
        <p className="text-muted">
          {oneIn === 1
            ? 'Every event that is acknowledged is looked up in the stores.'
            : `One in ${formatNumber(oneIn)} events that are acknowledged is looked up in the stores.`}
        </p>
      </div>
    </div>
  )
}

const Days = ({ days }: Pick<DeliveryStats, 'days'>) => (
  <table className="w-full" aria-label="Checked events by day">
    <thead>
      <tr className="text-left text-muted">
        <th scope="col" className="font-normal">
          Day (UTC)
        </th>
        {['Checked', 'Missing', 'Stored twice'].map((title) => (
          <th key={title} scope="col" className="text-right font-normal">
            {title}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {days.map(({ date, checked, missing, duplicated }) => (
        <tr key={date} className="border-t border-line">
          <td className="py-1.5 tabular-nums">{date}</td>
          <td className="text-right tabular-nums">{formatNumber(checked)}</td>
          {[missing, duplicated].map((count, column) => (
            <td key={column === 0 ? 'missing' : 'duplicated'} className="text-right tabular-nums">
              {count === 0 ? '0' : <Badge tone="warning">{formatNumber(count)}</Badge>}
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  </table>
)

const Deliveries = () => {
  const projectId = useProjectId()
  const { data, error, refetch } = useQuery({
    queryKey: [projectId, 'deliveries'],
    queryFn: () =>
      unwrap(api.GET('/api/projects/{projectId}/stats/deliveries', { params: { path: { projectId } } })),
    refetchInterval: REFRESH_MS,
  })
  if (error) return <ErrorState error={error} retry={() => void refetch()} />
  if (!data) return <SkeletonLines lines={4} />
  if (data.oneIn === 0 && data.days.length === 0)
    return (
      <EmptyState icon="check" title="Events are not checked">
        Set AUDIT_ONE_IN of the ingest gateway to have some of them looked up in the stores.
      </EmptyState>
    )
  return (
    <div className="flex flex-col gap-5">
      <Verdict {...data} />
      {data.days.length > 0 && <Days days={data.days} />}
    </div>
  )
}

/** Whether events are stored as promised, and how the pipeline is. */
export const HealthPage = () => (
  <>
    <PageHeader title="Health" description="Whether every event that was acknowledged is stored, once." />
    <div className="grid items-start gap-4 lg:grid-cols-3">
      <Card title="Delivery" className="lg:col-span-2" padded>
        <Deliveries />
      </Card>
      <Pipeline />
    </div>
  </>
)
