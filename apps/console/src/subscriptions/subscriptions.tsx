import { Link } from '@tanstack/react-router'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useMay, useProjectId } from '../api/session.ts'
import type { Subscription } from '../api/types.ts'
import { useNavigateFromHere, useUrlState } from '../api/url-state.ts'
import { ApiCommand } from '../ui/api-command.tsx'
import { Button, For } from '../ui/button.tsx'
import { Card, PageHeader } from '../ui/card.tsx'
import { Modal } from '../ui/dialog.tsx'
import { Time } from '../ui/format.tsx'
import { EmptyState } from '../ui/states.tsx'
import { DataTable } from '../ui/table.tsx'
import { SubscriptionForm } from './subscription-form.tsx'
import { LastResult, scheduleText } from './subscription-text.tsx'

/** Dashboards that members get by email. */
export const Subscriptions = () => {
  const projectId = useProjectId()
  const navigate = useNavigateFromHere()
  const mayEdit = useMay('editor')
  const [search, setSearch] = useUrlState<'new'>()
  const list = useList<Subscription>(
    [projectId, 'subscriptions'],
    (cursor) =>
      unwrap(
        api.GET('/api/projects/{projectId}/subscriptions', {
          params: { path: { projectId }, query: { limit: 50, ...cursor } },
        }),
      ),
    { refetchInterval: 30_000 },
  )
  const open = ({ id }: { id: string }) =>
    void navigate({ to: '/p/$projectId/dashboards/subscriptions/$id', params: { projectId, id } })
  const close = () => setSearch({ new: '' }, { replace: true })
  const create = (
    <For atLeast="editor">
      <Button look="primary" icon="plus" onClick={() => setSearch({ new: '1' })}>
        Create subscription
      </Button>
    </For>
  )
  return (
    <>
      <PageHeader
        back={{ to: '/p/$projectId/dashboards', params: { projectId }, label: 'Dashboards' }}
        title="Subscriptions"
        description="Dashboards by email, after each day, week or month."
        actions={create}
      />
      <Card>
        <DataTable
          label="Subscriptions"
          list={list}
          keyOf={({ id }) => id}
          onOpen={open}
          columns={[
            {
              title: 'Subscription',
              sort: ({ name }) => name,
              cell: (subscription) => (
                <div>
                  <Link
                    to="/p/$projectId/dashboards/subscriptions/$id"
                    params={{ projectId, id: subscription.id }}
                    className="rounded font-medium break-words hover:underline"
                  >
                    {subscription.name}
                  </Link>
                  <span className="block text-muted">{scheduleText(subscription)}</span>
                </div>
              ),
            },
            {
              title: 'Last email',
              cell: (subscription) => <LastResult subscription={subscription} />,
            },
            {
              title: 'Next',
              align: 'right',
              wide: true,
              sort: ({ nextAt }) => nextAt,
              cell: ({ nextAt }) => <Time at={nextAt} />,
            },
          ]}
          empty={
            <EmptyState icon="email" title="No subscriptions yet" action={create}>
              <p className="mb-4">
                A subscription sends a dashboard to members of the project, with figures, their changes and
                pictures.
              </p>
              <For atLeast="editor">
                <ApiCommand
                  does="creates a subscription"
                  resource="subscriptions"
                  body={{
                    name: 'Every Monday',
                    dashboardId: '00000000-0000-0000-0000-000000000000',
                    frequency: 'week',
                    emailRoles: ['owner'],
                  }}
                />
              </For>
            </EmptyState>
          }
        />
      </Card>
      <Modal open={mayEdit && search.new === '1'} onClose={close} title="Create subscription">
        <SubscriptionForm onDone={open} onCancel={close} />
      </Modal>
    </>
  )
}
