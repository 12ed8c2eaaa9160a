import { Link } from '@tanstack/react-router'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useMay, useProjectId } from '../api/session.ts'
import type { Alert } from '../api/types.ts'
import { useNavigateFromHere, useUrlState } from '../api/url-state.ts'
import { ApiCommand } from '../ui/api-command.tsx'
import { Button, For } from '../ui/button.tsx'
import { Card, PageHeader } from '../ui/card.tsx'
import { Modal } from '../ui/dialog.tsx'
import { Time } from '../ui/format.tsx'
import { EmptyState } from '../ui/states.tsx'
import { DataTable } from '../ui/table.tsx'
import { AlertForm } from './alert-form.tsx'
import { AlertState, conditionText, valueText } from './alert-text.tsx'

/** The project's alerts. */
export const Alerts = () => {
  const projectId = useProjectId()
  const navigate = useNavigateFromHere()
  const mayEdit = useMay('editor')
  const [search, setSearch] = useUrlState<'new'>()
  const list = useList<Alert>(
    [projectId, 'alerts'],
    (cursor) =>
      unwrap(
        api.GET('/api/projects/{projectId}/alerts', {
          params: { path: { projectId }, query: { limit: 50, ...cursor } },
        }),
      ),
    { refetchInterval: 30_000 },
  )
  const open = ({ id }: { id: string }) =>
    void navigate({ to: '/p/$projectId/alerts/$id', params: { projectId, id } })
  const close = () => setSearch({ new: '' }, { replace: true })
  const create = (
    <For atLeast="editor">
      <Button look="primary" icon="plus" onClick={() => setSearch({ new: '1' })}>
        Create alert
      </Button>
    </For>
  )
  return (
    <>
      <PageHeader
        title="Alerts"
        description="Messages when a figure is not as it should be."
        actions={create}
      />
      <Card>
        <DataTable
          label="Alerts"
          list={list}
          keyOf={({ id }) => id}
          onOpen={open}
          columns={[
            {
              title: 'Alert',
              sort: ({ name }) => name,
              cell: (alert) => (
                <div>
                  <Link
                    to="/p/$projectId/alerts/$id"
                    params={{ projectId, id: alert.id }}
                    className="rounded font-medium break-words hover:underline"
                  >
                    {alert.name}
                  </Link>
                  <span className="block text-muted">{conditionText(alert)}</span>
                </div>
              ),
            },
            { title: 'State', sort: ({ state }) => state, cell: (alert) => <AlertState alert={alert} /> },
            {
              title: 'Value',
              align: 'right',
              sort: ({ value }) => value,
              cell: ({ value }) => valueText(value),
            },
            {
              title: 'Fires since',
              align: 'right',
              wide: true,
              sort: ({ firingSince }) => firingSince,
              cell: ({ firingSince }) => <Time at={firingSince} as="ago" />,
            },
          ]}
          empty={
            <EmptyState icon="alerts" title="No alerts yet" action={create}>
              <p className="mb-4">
                An alert watches a saved insight or a figure of the web analytics, and sends an email, a
                webhook or a message to Slack when it is too high, too low or unusual.
              </p>
              <For atLeast="editor">
                <ApiCommand
                  does="creates an alert"
                  resource="alerts"
                  body={{
                    name: 'Few visitors',
                    measure: { web: { figure: 'visitors' } },
                    condition: { type: 'unusual', direction: 'down' },
                    interval: 'hour',
                    emailRoles: ['owner'],
                  }}
                />
              </For>
            </EmptyState>
          }
        />
      </Card>
      <Modal open={mayEdit && search.new === '1'} onClose={close} title="Create alert">
        <AlertForm onDone={open} onCancel={close} />
      </Modal>
    </>
  )
}
