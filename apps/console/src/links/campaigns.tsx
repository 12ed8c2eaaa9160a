import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api, unwrap } from '../api/client.ts'
import { wholeList } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import type { LinkCampaign } from '../api/types.ts'
import { useUrlState } from '../api/url-state.ts'
import { ApiCommand } from '../ui/api-command.tsx'
import { For } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { BarList } from '../ui/chart.tsx'
import { Select } from '../ui/form.tsx'
import { formatCount, formatNumber } from '../ui/format.tsx'
import { EmptyState, ErrorState, SkeletonLines } from '../ui/states.tsx'
import { type Column, DataTable, NarrowLine, rowLinkClass } from '../ui/table.tsx'
import { LinksHeader } from './header.tsx'
import { formatRevenue } from './revenue.ts'

const DAY_MS = 86_400_000
const PERIODS = [
  ['7', 'Last 7 days'],
  ['30', 'Last 30 days'],
  ['90', 'Last 90 days'],
  ['365', 'Last 365 days'],
] as const
const NO_CAMPAIGN = 'no campaign'
const BARS = 10

/** The clicks, people and conversions of the project's links, by campaign. */
export const Campaigns = () => {
  const projectId = useProjectId()
  const [search, setSearch] = useUrlState<'days'>()
  const days = PERIODS.find(([one]) => one === search.days)?.[0] ?? '30'
  const from = new Date(Date.now() - (Number(days) - 1) * DAY_MS).toISOString().slice(0, 10)
  const { data, error, refetch } = useQuery({
    queryKey: [projectId, 'link-campaigns', from],
    queryFn: () =>
      unwrap(
        api.GET('/api/projects/{projectId}/link-campaigns', {
          params: { path: { projectId }, query: { from } },
        }),
      ),
  })
  return (
    <>
      <LinksHeader />
      <div className="mb-4 max-w-56">
        <Select
          label="Time range"
          hideLabel
          value={days}
          onChange={(event) => setSearch({ days: event.target.value })}
          options={PERIODS}
        />
      </div>
      {error ? (
        <Card>
          <ErrorState error={error} retry={() => void refetch()} />
        </Card>
      ) : data ? (
        <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-4 lg:grid-cols-3">
          <Card title="Clicks by campaign" padded>
            <BarList
              label="Clicks by campaign"
              rows={data.campaigns
                .filter(({ clicks }) => clicks > 0)
                .slice(0, BARS)
                .map(({ campaign, clicks }) => ({ name: campaign ?? NO_CAMPAIGN, value: clicks }))}
            />
          </Card>
          <Card className="lg:col-span-2">
            <DataTable
              label="Campaigns"
              columns={columns(projectId)}
              list={wholeList(data.campaigns)}
              keyOf={({ campaign }) => campaign ?? ''}
              empty={
                <EmptyState icon="links" title="No campaigns yet">
                  <p className="mb-4">
                    A link can belong to a campaign. What all links of a campaign brought is summed up here.
                  </p>
                  <For atLeast="editor">
                    <ApiCommand
                      does="creates a link of a campaign"
                      resource="links"
                      body={{ destination: 'https://shop.example/sale', campaign: 'autumn' }}
                    />
                  </For>
                </EmptyState>
              }
            />
          </Card>
        </div>
      ) : (
        <Card>
          <SkeletonLines lines={8} />
        </Card>
      )}
    </>
  )
}

const columns = (projectId: string): Column<LinkCampaign>[] => [
  {
    title: 'Campaign',
    sort: ({ campaign }) => campaign,
    cell: ({ campaign, conversions }) => (
      <>
        {campaign === null ? (
          <span className="text-muted">{NO_CAMPAIGN}</span>
        ) : (
          <Link
            to="/p/$projectId/links"
            params={{ projectId }}
            search={{ campaign } as never}
            className={rowLinkClass}
          >
            {campaign}
          </Link>
        )}
        <NarrowLine>{formatCount(conversions.lastTouch.conversions, 'conversion')}</NarrowLine>
      </>
    ),
  },
  {
    title: 'Links',
    align: 'right',
    wide: true,
    sort: ({ links }) => links,
    cell: ({ links }) => formatNumber(links),
  },
  {
    title: 'Clicks',
    align: 'right',
    sort: ({ clicks }) => clicks,
    cell: ({ clicks }) => formatNumber(clicks),
  },
  {
    title: 'Visitors',
    align: 'right',
    wide: true,
    sort: ({ uniqueVisitors }) => uniqueVisitors,
    cell: ({ uniqueVisitors }) => formatNumber(uniqueVisitors),
  },
  {
    title: 'Conversions',
    align: 'right',
    wide: true,
    sort: ({ conversions }) => conversions.lastTouch.conversions,
    cell: ({ conversions }) => formatNumber(conversions.lastTouch.conversions),
  },
  {
    title: 'Revenue',
    align: 'right',
    wide: true,
    cell: ({ conversions }) => formatRevenue(conversions.lastTouch.revenue),
  },
]
