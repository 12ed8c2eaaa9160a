import { useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../api/client.ts'
import { useList, wholeList } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import type { MeteringSelector } from '../api/types.ts'
import { useUrlState } from '../api/url-state.ts'
import { curlCommand } from '../ui/api-command.tsx'
import { Card } from '../ui/card.tsx'
import { CodeBlock } from '../ui/code.tsx'
import { Select } from '../ui/form.tsx'
import { formatNumber, formatPercent } from '../ui/format.tsx'
import { EmptyState, ErrorState, SkeletonLines } from '../ui/states.tsx'
import { DataTable, NarrowLine } from '../ui/table.tsx'
import { signed, VariantName } from './variant-name.tsx'

const interval = (range: unknown): string =>
  Array.isArray(range) ? `${formatPercent(Number(range[0]))} to ${formatPercent(Number(range[1]))}` : '–'

type Compared = { control: boolean; lift: number | null }

/** Whether a variant has a difference from the control. */
const isCompared = <R extends Compared>(row: R): row is R & { lift: number } =>
  !row.control && row.lift !== null

/** Exposures and conversions by variant. */
export const Results = ({ decisionKey, environment }: { decisionKey: string; environment: string }) => {
  const projectId = useProjectId()
  const [{ conversion: selectorId = '' }, setSearch] = useUrlState<'conversion'>()
  const selectors = useList<MeteringSelector>([projectId, 'selectors'], (cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/metering-selectors', {
        params: { path: { projectId }, query: { limit: 100, ...cursor } },
      }),
    ),
  )
  const stats = useQuery({
    queryKey: [projectId, 'decision-stats', decisionKey, environment, selectorId],
    queryFn: () =>
      unwrap(
        api.GET('/api/projects/{projectId}/decisions/{key}/stats', {
          params: {
            path: { projectId, key: decisionKey },
            query: { environment, ...(selectorId && { selectorId }) },
          },
        }),
      ),
    refetchInterval: 15_000,
  })
  if (stats.error)
    return (
      <Card>
        <ErrorState error={stats.error} retry={() => void stats.refetch()} />
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
          ? `Left out because they had several variants: ${formatNumber(stats.data.mixed)}.`
          : undefined
      }
      actions={
        <Select
          label="Conversion"
          hideLabel
          value={selectorId}
          onChange={(event) => setSearch({ conversion: event.target.value })}
          options={[
            ['', 'All conversions'],
            ...selectors.rows.map(({ id, eventName }) => [id, eventName] as const),
          ]}
        />
      }
    >
      <DataTable
        label="Variants"
        list={wholeList(stats.data.variants)}
        keyOf={({ variant }) => variant}
        columns={[
          {
            title: 'Variant',
            sort: ({ variant }) => variant,
            cell: VariantName,
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
            cell: (row) => (
              <>
                {row.rate === null ? '–' : formatPercent(row.rate)}
                <span className="block text-muted @2xl:whitespace-nowrap">{interval(row.rateInterval)}</span>
                {isCompared(row) && <NarrowLine>{`${signed(row.lift)} against control`}</NarrowLine>}
              </>
            ),
          },
          {
            title: 'Against control',
            align: 'right',
            wide: true,
            cell: (row) =>
              isCompared(row) ? (
                <span>
                  {signed(row.lift)}
                  <span className="block text-muted">
                    {row.pValue === null ? 'too few people' : `p = ${row.pValue.toFixed(3)}`}
                  </span>
                </span>
              ) : (
                '–'
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
