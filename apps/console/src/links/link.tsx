import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import type { LinkStats } from '../api/types.ts'
import { useUrlDialog } from '../api/url-state.ts'
import { Status } from '../ui/badge.tsx'
import { Button, buttonClass, For } from '../ui/button.tsx'
import { Card, Facts, PageHeader } from '../ui/card.tsx'
import { BarList, TimeChart } from '../ui/chart.tsx'
import { CopyButton } from '../ui/code.tsx'
import { ConfirmButton, Modal } from '../ui/dialog.tsx'
import { formatCountry, formatNumber, Time } from '../ui/format.tsx'
import { Icon } from '../ui/icon.tsx'
import { PageWithoutData } from '../ui/page-without-data.tsx'
import { ErrorState, Notice, SkeletonLines } from '../ui/states.tsx'
import { LinkForm } from './link-form.tsx'
import { formatRevenue } from './revenue.ts'
import { useLinkDomains } from './use-link-domains.ts'
import { VariantStatistics } from './variant-statistics.tsx'

/** One short link, its clicks and its conversions. */
export const LinkPage = () => {
  const projectId = useProjectId()
  const { id } = useParams({ strict: false }) as { id: string }
  const params = { path: { projectId, id } }
  const [dialog, openDialog, closeDialog] = useUrlDialog<'edit'>('editor')
  const domains = useLinkDomains()
  const link = useQuery({
    queryKey: [projectId, 'link', id],
    queryFn: () => unwrap(api.GET('/api/projects/{projectId}/links/{id}', { params })),
  })
  const stats = useQuery({
    queryKey: [projectId, 'link-stats', id],
    queryFn: () => unwrap(api.GET('/api/projects/{projectId}/links/{id}/stats', { params })),
    refetchInterval: 10_000,
  })
  const setStatus = useChange(
    (status: 'active' | 'paused') =>
      unwrap(api.PATCH('/api/projects/{projectId}/links/{id}', { params, body: { status } })),
    { done: ({ status }) => (status === 'active' ? 'The link is active' : 'The link is paused') },
  )
  const archive = useChange(() => unwrap(api.DELETE('/api/projects/{projectId}/links/{id}', { params })), {
    done: 'Link archived',
    quiet: true,
  })
  const back = { to: '/p/$projectId/links', params: { projectId }, label: 'Links' } as const
  if (!link.data) return <PageWithoutData title="Link" back={back} query={link} />
  const { code, shortUrl, destination, status, campaign, tags, expiresAt, clickLimit, createdAt } = link.data
  const domain = domains.find(({ id: one }) => one === link.data.domainId)
  const qr = `/api/projects/${projectId}/links/${id}/qr`
  return (
    <>
      <PageHeader
        back={back}
        title={code}
        aside={<Status status={status} />}
        actions={
          status !== 'archived' && (
            <For atLeast="editor">
              <Button onClick={() => openDialog('edit')}>Edit</Button>
              <Button
                icon={status === 'active' ? 'pause' : 'play'}
                busy={setStatus.isPending}
                onClick={() => setStatus.mutate(status === 'active' ? 'paused' : 'active')}
              >
                {status === 'active' ? 'Pause' : 'Activate'}
              </Button>
              <ConfirmButton
                label="Archive"
                title={`Archive ${code}?`}
                confirm="Archive"
                onConfirm={() => archive.mutateAsync()}
              >
                The short URL stops working, and its code cannot be used again.
              </ConfirmButton>
            </For>
          )
        }
      />
      {domain?.verifiedAt === null && (
        <div className="mb-4">
          <Notice tone="warning">{domain.host} is not verified, so this link does not resolve.</Notice>
        </div>
      )}
      <div className="grid gap-4 lg:grid-cols-3">
        <div className="flex flex-col gap-4">
          <Card title="Link" padded>
            <div className="mb-4 flex flex-wrap items-center gap-3">
              <img
                src={`${qr}?format=svg`}
                alt={`QR code of ${shortUrl}`}
                className="size-28 rounded-lg border border-line bg-white p-1.5"
              />
              <div className="flex flex-col items-start gap-2">
                <CopyButton text={shortUrl} label="Copy short URL" />
                <a
                  href={`${qr}?format=png&size=1024`}
                  download={`${code}.png`}
                  className={buttonClass('secondary', true)}
                >
                  <Icon name="download" /> QR code
                </a>
                <a
                  href={shortUrl}
                  target="_blank"
                  rel="noreferrer"
                  className={buttonClass('secondary', true)}
                >
                  <Icon name="external" /> Open
                </a>
              </div>
            </div>
            <Facts
              rows={[
                ['Short URL', shortUrl],
                ['Destination', destination],
                ['Campaign', campaign],
                ['Tags', tags.join(', ') || null],
                ['Expires', <Time key="e" at={expiresAt} />],
                ['Click limit', clickLimit === null ? null : formatNumber(clickLimit)],
                ['Expired URL', link.data.expiredUrl],
                ['Preview card', link.data.og?.title ?? null],
                ['Password', link.data.hasPassword ? 'required' : null],
                ['Created', <Time key="c" at={createdAt} />],
              ]}
            />
          </Card>
        </div>
        <div className="flex min-w-0 flex-col gap-4 lg:col-span-2">
          {stats.error ? (
            <Card>
              <ErrorState error={stats.error} retry={() => void stats.refetch()} />
            </Card>
          ) : stats.data ? (
            <>
              <Statistics stats={stats.data} />
              {stats.data.variants.length > 0 && (
                <VariantStatistics stats={stats.data} variants={link.data.variants} />
              )}
            </>
          ) : (
            <Card>
              <SkeletonLines lines={8} />
            </Card>
          )}
        </div>
      </div>
      <Modal open={dialog === 'edit'} onClose={closeDialog} title={`Edit ${code}`}>
        <LinkForm link={link.data} onDone={closeDialog} onCancel={closeDialog} />
      </Modal>
    </>
  )
}

const Statistics = ({ stats }: { stats: LinkStats }) => {
  const at = useMemo(() => stats.days.map(({ day }) => day), [stats.days])
  const series = useMemo(
    () => [{ label: 'Clicks', values: stats.days.map(({ clicks }) => clicks) }],
    [stats.days],
  )
  const { lastTouch } = stats.conversions
  const figures = [
    ['Clicks', formatNumber(stats.clicks)],
    ['Visitors', formatNumber(stats.uniqueVisitors)],
    ['Conversions', formatNumber(lastTouch.conversions)],
    ['Revenue', formatRevenue(lastTouch.revenue)],
  ] as const
  return (
    <>
      <Card padded>
        <dl className="grid grid-cols-2 gap-4 sm:grid-cols-4">
          {figures.map(([name, value]) => (
            <div key={name}>
              <dt className="text-muted">{name}</dt>
              <dd className="text-xl font-semibold tabular-nums">{value}</dd>
            </div>
          ))}
        </dl>
      </Card>
      <Card title="Clicks a day" description="Days begin at midnight UTC." padded>
        {at.length > 0 ? (
          <TimeChart label="Clicks a day" at={at} series={series} timeZone="UTC" />
        ) : (
          <p className="text-muted">No clicks yet.</p>
        )}
      </Card>
      <div className="grid gap-4 sm:grid-cols-3">
        <Card title="Countries" padded>
          <BarList
            label="Clicks by country"
            rows={stats.countries.map(({ country, clicks }) => ({
              name: formatCountry(country),
              value: clicks,
            }))}
          />
        </Card>
        <Card title="Devices" padded>
          <BarList
            label="Clicks by device"
            rows={stats.devices.map(({ device, clicks }) => ({ name: device, value: clicks }))}
          />
        </Card>
        <Card title="Referrers" padded>
          <BarList
            label="Clicks by referrer"
            rows={stats.referrers.map(({ referrer, clicks }) => ({ name: referrer, value: clicks }))}
          />
        </Card>
      </div>
      <p className="text-muted">Clicks of bots, which are not counted: {formatNumber(stats.botClicks)}.</p>
    </>
  )
}
