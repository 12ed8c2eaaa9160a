import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useAccount, useMay, useProjectId } from '../api/session.ts'
import type { Member, Subscription } from '../api/types.ts'
import { useNavigateFromHere, useUrlDialog } from '../api/url-state.ts'
import { useDashboards } from '../dashboards/dashboard-api.ts'
import { Badge } from '../ui/badge.tsx'
import { Button, For } from '../ui/button.tsx'
import { Card, Facts, PageHeader } from '../ui/card.tsx'
import { ConfirmButton, Modal } from '../ui/dialog.tsx'
import { Time } from '../ui/format.tsx'
import { PageWithoutData } from '../ui/page-without-data.tsx'
import { Notice } from '../ui/states.tsx'
import { SubscriptionForm } from './subscription-form.tsx'
import { LastResult, STATUS_TONES, scheduleText } from './subscription-text.tsx'

/** One subscription, and what became of its newest email. */
export const SubscriptionPage = () => {
  const projectId = useProjectId()
  const navigate = useNavigateFromHere()
  const ownId = useAccount()?.user.id
  const { id } = useParams({ strict: false }) as { id: string }
  const params = { path: { projectId, id } }
  const [dialog, openDialog, closeDialog] = useUrlDialog<'edit'>('editor')
  const subscription = useQuery({
    queryKey: [projectId, 'subscription', id],
    queryFn: () => unwrap(api.GET('/api/projects/{projectId}/subscriptions/{id}', { params })),
    refetchInterval: 30_000,
  })
  const test = useChange(
    () => unwrap(api.POST('/api/projects/{projectId}/subscriptions/{id}/test', { params })),
    { done: 'You get an email about the newest period in some seconds' },
  )
  const resubscribe = useChange(
    () => unwrap(api.POST('/api/projects/{projectId}/subscriptions/{id}/resubscribe', { params })),
    { done: 'You get it again' },
  )
  const remove = useChange(
    () => unwrap(api.DELETE('/api/projects/{projectId}/subscriptions/{id}', { params })),
    {
      done: 'Subscription deleted',
      quiet: true,
      leave: () => navigate({ to: '/p/$projectId/dashboards/subscriptions', params: { projectId } }),
    },
  )
  const back = {
    to: '/p/$projectId/dashboards/subscriptions',
    params: { projectId },
    label: 'Subscriptions',
  } as const
  if (!subscription.data) return <PageWithoutData title="Subscription" back={back} query={subscription} />
  const { name, problem, unsubscribedUserIds } = subscription.data
  const hasLeft = unsubscribedUserIds.some((userId) => userId === ownId)
  return (
    <>
      <PageHeader
        back={back}
        title={name}
        aside={<LastResult subscription={subscription.data} />}
        actions={
          <>
            <Button busy={test.isPending} onClick={() => test.mutate()}>
              Send me one now
            </Button>
            {hasLeft && (
              <Button busy={resubscribe.isPending} onClick={() => resubscribe.mutate()}>
                Subscribe me again
              </Button>
            )}
            <For atLeast="editor">
              <Button onClick={() => openDialog('edit')}>Edit</Button>
              <ConfirmButton
                label="Delete"
                title={`Delete the subscription ${name}?`}
                confirm="Delete subscription"
                onConfirm={() => remove.mutateAsync()}
              >
                Emails that wait are not sent.
              </ConfirmButton>
            </For>
          </>
        }
      />
      {problem !== null && (
        <div className="mb-4">
          <Notice tone="warning">{problem}</Notice>
        </div>
      )}
      <div className="grid gap-4 lg:grid-cols-3">
        <Card title="Subscription" padded className="self-start">
          <SubscriptionFacts subscription={subscription.data} />
        </Card>
        <div className="min-w-0 lg:col-span-2">
          <LastEmail subscription={subscription.data} />
        </div>
      </div>
      <Modal open={dialog === 'edit'} onClose={closeDialog} title="Edit subscription">
        <SubscriptionForm subscription={subscription.data} onDone={closeDialog} onCancel={closeDialog} />
      </Modal>
    </>
  )
}

const SubscriptionFacts = ({ subscription }: { subscription: Subscription }) => {
  const projectId = useProjectId()
  const dashboards = useDashboards()
  const { dashboardId, emailRoles, userIds, unsubscribedUserIds, nextAt } = subscription
  const people = [...emailRoles, ...(userIds.length > 0 ? [`${userIds.length} by name`] : [])]
  return (
    <Facts
      rows={[
        [
          'Dashboard',
          <Link
            key="d"
            to="/p/$projectId/dashboards/$id"
            params={{ projectId, id: dashboardId }}
            className="rounded hover:underline"
          >
            {dashboards.rows.find(({ id }) => id === dashboardId)?.name ?? dashboardId}
          </Link>,
        ],
        ['Sent', scheduleText(subscription)],
        ['Email to', people.join(', ')],
        ['Unsubscribed', `${unsubscribedUserIds.length}`],
        ['Next', <Time key="n" at={nextAt} />],
      ]}
    />
  )
}

const LastEmail = ({ subscription: { last } }: { subscription: Subscription }) => {
  const projectId = useProjectId()
  // Only admins may read the members; others see their ids.
  const mayReadNames = useMay('admin')
  const members = useList<Member>(
    [projectId, 'members'],
    (cursor) =>
      unwrap(
        api.GET('/api/projects/{projectId}/members', {
          params: { path: { projectId }, query: { limit: 50, ...cursor } },
        }),
      ),
    { enabled: mayReadNames },
  )
  if (last === null)
    return (
      <Card title="Last email" padded>
        <p className="text-muted">The first email is about the period that ends next.</p>
      </Card>
    )
  const nameOf = (userId: string): string => members.rows.find(({ id }) => id === userId)?.name ?? userId
  return (
    <Card title="Last email" padded>
      <p className="mb-3 text-muted">
        About the period from <Time at={last.periodStart} /> to <Time at={last.periodEnd} />.
      </p>
      <ul className="flex flex-col gap-2">
        {last.mails.map(({ userId, status, reason }) => (
          <li key={userId} className="flex flex-wrap items-center gap-2">
            <span className="wrap-anywhere">{nameOf(userId)}</span>
            <Badge tone={STATUS_TONES[status]}>{status}</Badge>
            {reason !== null && <span className="text-muted wrap-anywhere">{reason}</span>}
          </li>
        ))}
      </ul>
    </Card>
  )
}
