import { Link } from '@tanstack/react-router'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import type { Dashboard } from '../api/types.ts'
import { useNavigateFromHere, useUrlState } from '../api/url-state.ts'
import { ApiCommand } from '../ui/api-command.tsx'
import { Button, buttonClass, For } from '../ui/button.tsx'
import { Card, PageHeader } from '../ui/card.tsx'
import { changedColumn } from '../ui/columns.tsx'
import { Modal } from '../ui/dialog.tsx'
import { Form, Input } from '../ui/form.tsx'
import { formatNumber } from '../ui/format.tsx'
import { EmptyState } from '../ui/states.tsx'
import { DataTable } from '../ui/table.tsx'
import { useDashboards } from './dashboard-api.ts'

/** The project's dashboards. */
export const Dashboards = () => {
  const projectId = useProjectId()
  const navigate = useNavigateFromHere()
  const list = useDashboards()
  const [search, setSearch] = useUrlState<'new'>()
  const open = ({ id }: Pick<Dashboard, 'id'>) =>
    void navigate({ to: '/p/$projectId/dashboards/$id', params: { projectId, id } })
  const close = () => setSearch({ new: '' }, { replace: true })
  const create = (
    <For atLeast="editor">
      <Button look="primary" icon="plus" onClick={() => setSearch({ new: '1' })}>
        Create dashboard
      </Button>
    </For>
  )
  return (
    <>
      <PageHeader
        title="Dashboards"
        description="Saved insights, side by side."
        actions={
          <>
            <Link
              to="/p/$projectId/dashboards/subscriptions"
              params={{ projectId }}
              className={buttonClass()}
            >
              Subscriptions
            </Link>
            {create}
          </>
        }
      />
      <Card>
        <DataTable
          label="Dashboards"
          list={list}
          keyOf={({ id }) => id}
          onOpen={open}
          columns={[
            {
              title: 'Name',
              sort: ({ name }) => name,
              cell: ({ id, name }) => (
                <Link
                  to="/p/$projectId/dashboards/$id"
                  params={{ projectId, id }}
                  className="rounded font-medium break-words hover:underline"
                >
                  {name}
                </Link>
              ),
            },
            {
              title: 'Insights',
              align: 'right',
              sort: ({ insightIds }) => insightIds.length,
              cell: ({ insightIds }) => formatNumber(insightIds.length),
            },
            changedColumn,
          ]}
          empty={
            <EmptyState icon="dashboards" title="No dashboards yet" action={create}>
              <p className="mb-4">
                A dashboard shows saved insights side by side. Create one here or by API, then add what you
                save in Explore.
              </p>
              <For atLeast="editor">
                <ApiCommand
                  does="creates a dashboard"
                  resource="dashboards"
                  body={{ name: 'Every morning', insightIds: [] }}
                />
              </For>
            </EmptyState>
          }
        />
      </Card>
      <For atLeast="editor">
        <Modal open={search.new === '1'} onClose={close} title="Create dashboard">
          <CreateForm onDone={open} onCancel={close} />
        </Modal>
      </For>
    </>
  )
}

const CreateForm = ({
  onDone,
  onCancel,
}: {
  onDone: (dashboard: { id: string }) => void
  onCancel: () => void
}) => {
  const projectId = useProjectId()
  const create = useChange(
    ({ name = '' }: Record<string, string>) =>
      unwrap(
        api.POST('/api/projects/{projectId}/dashboards', {
          params: { path: { projectId } },
          body: { name, insightIds: [] },
        }),
      ),
    { quiet: true, done: 'Dashboard created', onDone },
  )
  return (
    <Form
      submit="Create"
      busy={create.isPending}
      error={create.error}
      names={['name']}
      onSubmit={(values) => create.mutate(values)}
      onCancel={onCancel}
    >
      <Input label="Name" name="name" required maxLength={200} />
    </Form>
  )
}
