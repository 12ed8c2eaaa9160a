import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import type { MeteringSelector } from '../api/types.ts'
import { curlCommand } from '../ui/api-command.tsx'
import { Badge } from '../ui/badge.tsx'
import { Card } from '../ui/card.tsx'
import { CodeBlock } from '../ui/code.tsx'
import { Select } from '../ui/form.tsx'
import { formatNumber, formatPercent } from '../ui/format.tsx'
import { EmptyState, ErrorState, SkeletonLines } from '../ui/states.tsx'
import { DataTable } from '../ui/table.tsx'

const interval = (range: unknown): string =>
  Array.isArray(range) ? `${formatPercent(Number(range[0]))} to ${formatPercent(Number(range[1]))}` : '–'

/** Exposures and conversions by variant. */
export const Results = ({ decisionKey }: { decisionKey: string }) => {
  const projectId = useProjectId()
  const [selectorId, setSelectorId] = useState('')
  const selectors = useList<MeteringSelector>([projectId, 'selectors'], (cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/metering-selectors', {
        params: { path: { projectId }, query: { limit: 100, ...cursor } },
      }),
    ),
  )
  const stats = useQuery({
    queryKey: [projectId, 'decision-stats', decisionKey, selectorId],
    queryFn: () =>
      unwrap(
        api.GET('/api/projects/{projectId}/decisions/{key}/stats', {
          params: { path: { projectId, key: decisionKey }, query: selectorId ? { selectorId } : {} },
        }),
      ),
    refetchInterval: 15_000,
  })
  const list = {
    rows: stats.data?.variants ?? [],
    isPending: stats.isPending,
    error: stats.error,
    hasNextPage: false,
    isFetchingNextPage: false,
    refetch: () => void stats.refetch(),
    fetchNextPage: () => undefined,
  }
  if (stats.error)
    return (
      <Card>
        <ErrorState error={stats.error} retry={list.refetch} />
      </Card>
    )
  if (!stats.data)
    return (
      <Card>
        <SkeletonLines />
      </Card>
    )
  return (
    <Card
      title="Results"
      description={
        stats.data.mixed > 0
          ? `${formatNumber(stats.data.mixed)} people had several variants and are left out.`
          : undefined
      }
      actions={
        <Select
          label="Conversion"
          hideLabel
          value={selectorId}
          onChange={(event) => setSelectorId(event.target.value)}
          options={[
            ['', 'All conversions'],
            ...selectors.rows.map(({ id, eventName }) => [id, eventName] as const),
          ]}
        />
      }
    >
      <DataTable
        label="Variants"
        list={list}
        keyOf={({ variant }) => variant}
        columns={[
          {
            title: 'Variant',
            sort: ({ variant }) => variant,
            cell: ({ variant, control }) => (
              <span className="flex items-center gap-2 font-medium">
                {variant} {control && <Badge>control</Badge>}
              </span>
            ),
          },
          {
            title: 'People',
            align: 'right',
            cell: ({ people }) => formatNumber(people),
            sort: ({ people }) => people,
          },
          {
            title: 'Converted',
            align: 'right',
            wide: true,
            cell: ({ converted }) => formatNumber(converted),
            sort: ({ converted }) => converted,
          },
          {
            title: 'Rate',
            align: 'right',
            sort: ({ rate }) => rate,
            cell: ({ rate, rateInterval }) => (
              <>
                {rate === null ? '–' : formatPercent(rate)}
                <span className="block whitespace-nowrap text-muted">{interval(rateInterval)}</span>
              </>
            ),
          },
          {
            title: 'Against control',
            align: 'right',
            wide: true,
            cell: ({ lift, pValue, control }) =>
              control || lift === null ? (
                '–'
              ) : (
                <span>
                  {lift > 0 && '+'}
                  {formatPercent(lift)}
                  <span className="block text-muted">
                    {pValue === null ? 'too few people' : `p = ${pValue.toFixed(3)}`}
                  </span>
                </span>
              ),
          },
        ]}
        empty={
          <EmptyState icon="decisions" title="No decisions were made yet">
            <p className="mb-4">Activate the decision, and ask for it as your shop does.</p>
            <CodeBlock
              label="Command that asks for the decision"
              text={curlCommand('/api/v1/decide', 'key with the scope decide', {
                keys: [decisionKey],
                visitorId: 'visitor-1',
              })}
            />
          </EmptyState>
        }
      />
    </Card>
  )
}
