import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import type { Alert, AlertEvaluation } from '../api/types.ts'
import { useNavigateFromHere, useUrlDialog } from '../api/url-state.ts'
import { useInsights } from '../dashboards/dashboard-api.ts'
import { Badge } from '../ui/badge.tsx'
import { Button, For } from '../ui/button.tsx'
import { Card, Facts, PageHeader } from '../ui/card.tsx'
import { ConfirmButton, Modal } from '../ui/dialog.tsx'
import { Time } from '../ui/format.tsx'
import { PageWithoutData } from '../ui/page-without-data.tsx'
import { EmptyState, Notice } from '../ui/states.tsx'
import { DataTable } from '../ui/table.tsx'
import { AlertForm } from './alert-form.tsx'
import { AlertState, comparisonText, conditionText, isMuted, valueText } from './alert-text.tsx'

const MUTED_MS = 24 * 60 * 60 * 1000

/** One alert and its history. */
export const AlertPage = () => {
  const projectId = useProjectId()
  const navigate = useNavigateFromHere()
  const { id } = useParams({ strict: false }) as { id: string }
  const params = { path: { projectId, id } }
  const [dialog, openDialog, closeDialog] = useUrlDialog<'edit'>('editor')
  const alert = useQuery({
    queryKey: [projectId, 'alert', id],
    queryFn: () => unwrap(api.GET('/api/projects/{projectId}/alerts/{id}', { params })),
    refetchInterval: 30_000,
  })
  const mute = useChange(
    () =>
      unwrap(
        api.POST('/api/projects/{projectId}/alerts/{id}/mute', {
          params,
          body: { until: new Date(Date.now() + MUTED_MS).toISOString() },
        }),
      ),
    { done: 'No messages are sent for 24 hours' },
  )
  const unmute = useChange(
    () => unwrap(api.POST('/api/projects/{projectId}/alerts/{id}/unmute', { params })),
    { done: 'Messages are sent again' },
  )
  const remove = useChange(() => unwrap(api.DELETE('/api/projects/{projectId}/alerts/{id}', { params })), {
    done: 'Alert deleted',
    quiet: true,
    leave: () => navigate({ to: '/p/$projectId/alerts', params: { projectId } }),
  })
  const back = { to: '/p/$projectId/alerts', params: { projectId }, label: 'Alerts' } as const
  if (!alert.data) return <PageWithoutData title="Alert" back={back} query={alert} />
  const { name, mutedUntil, problem } = alert.data
  return (
    <>
      <PageHeader
        back={back}
        title={name}
        aside={<AlertState alert={alert.data} />}
        actions={
          <For atLeast="editor">
            <Button onClick={() => openDialog('edit')}>Edit</Button>
            {isMuted(mutedUntil) ? (
              <Button busy={unmute.isPending} onClick={() => unmute.mutate()}>
                Unmute
              </Button>
            ) : (
              <Button busy={mute.isPending} onClick={() => mute.mutate()}>
                Mute for 24 hours
              </Button>
            )}
            <ConfirmButton
              label="Delete"
              title={`Delete the alert ${name}?`}
              confirm="Delete alert"
              onConfirm={() => remove.mutateAsync()}
            >
              Its history is deleted too.
            </ConfirmButton>
          </For>
        }
      />
      {problem !== null && (
        <div className="mb-4">
          <Notice tone="warning">It could not be evaluated and is tried again: {problem}</Notice>
        </div>
      )}
      <div className="grid gap-4 lg:grid-cols-3">
        <Card title="Alert" padded className="self-start">
          <AlertFacts alert={alert.data} />
        </Card>
        <div className="min-w-0 lg:col-span-2">
          <History id={id} type={alert.data.condition.type} />
        </div>
      </div>
      <Modal open={dialog === 'edit'} onClose={closeDialog} title="Edit alert">
        <AlertForm alert={alert.data} onDone={closeDialog} onCancel={closeDialog} />
      </Modal>
    </>
  )
}

const AlertFacts = ({ alert }: { alert: Alert }) => {
  const insights = useInsights()
  const { insightId, web } = alert.measure
  const watched = web?.figure ?? insights.rows.find(({ id }) => id === insightId)?.name ?? insightId
  const { timeZone, emailRoles, webhooks, slackUrl, mutedUntil, firingSince } = alert
  return (
    <Facts
      rows={[
        ['Watches', watched ?? '–'],
        ['Fires when', conditionText(alert)],
        ['Time zone', timeZone],
        ['Email to', emailRoles.join(', ') || 'nobody'],
        ['Webhooks', webhooks ? 'yes' : 'no'],
        [
          'Slack',
          <span key="s" className="wrap-anywhere">
            {slackUrl ?? 'no'}
          </span>,
        ],
        ['Last value', valueText(alert.value)],
        ...(firingSince === null ? [] : [['Fires since', <Time key="f" at={firingSince} />] as const]),
        ...(isMuted(mutedUntil) ? [['Muted until', <Time key="m" at={mutedUntil} />] as const] : []),
      ]}
    />
  )
}

const CHANGES: Record<string, string> = { fired: 'began to fire', resolved: 'ended' }

const History = ({ id, type }: { id: string; type: Alert['condition']['type'] }) => {
  const projectId = useProjectId()
  const list = useList<AlertEvaluation>(
    [projectId, 'alert-history', id],
    (cursor) =>
      unwrap(
        api.GET('/api/projects/{projectId}/alerts/{id}/history', {
          params: { path: { projectId, id }, query: { limit: 50, ...cursor } },
        }),
      ),
    { refetchInterval: 30_000 },
  )
  return (
    <Card title="History">
      <DataTable
        label="History"
        list={list}
        keyOf={(evaluation) => evaluation.id}
        columns={[
          { title: 'Interval', sort: ({ bucket }) => bucket, cell: ({ bucket }) => <Time at={bucket} /> },
          {
            title: 'State',
            cell: ({ state, change }) => (
              <span className="inline-flex flex-wrap gap-1">
                <AlertState alert={{ state }} />
                {change !== null && <Badge>{CHANGES[change] ?? change}</Badge>}
              </span>
            ),
          },
          { title: 'Value', align: 'right', wide: true, cell: ({ value }) => valueText(value) },
          {
            title: 'Compared with',
            align: 'right',
            wide: true,
            cell: (evaluation) => comparisonText(evaluation, type),
          },
        ]}
        empty={
          <EmptyState icon="alerts" title="Not evaluated yet">
            <p>The last complete interval is evaluated within a minute.</p>
          </EmptyState>
        }
      />
    </Card>
  )
}
