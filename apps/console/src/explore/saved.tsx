import { Link } from '@tanstack/react-router'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useMay, useProjectId } from '../api/session.ts'
import type { Insight } from '../api/types.ts'
import { useUrlState } from '../api/url-state.ts'
import { useInsights } from '../dashboards/dashboard-api.ts'
import { ApiCommand } from '../ui/api-command.tsx'
import { Badge } from '../ui/badge.tsx'
import { Button, For } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { changedColumn } from '../ui/columns.tsx'
import { ConfirmButton, Modal } from '../ui/dialog.tsx'
import { RenameForm } from '../ui/rename-form.tsx'
import { EmptyState } from '../ui/states.tsx'
import { type Column, DataTable } from '../ui/table.tsx'
import { ExploreHeader } from './frame.tsx'
import { InsightLink } from './insight-link.tsx'
import { DashboardForm } from './save.tsx'

/** Saved queries. */
export const SavedPage = () => {
  const projectId = useProjectId()
  const insights = useInsights()
  const mayEdit = useMay('editor')
  const [search, setSearch] = useUrlState<'rename' | 'add'>()
  const insightIn = (name: 'rename' | 'add') =>
    mayEdit ? insights.rows.find(({ id }) => id === search[name]) : undefined
  const renaming = insightIn('rename')
  const adding = insightIn('add')
  const close = () => setSearch({ rename: '', add: '' }, { replace: true })
  const remove = useChange(
    (id: string) =>
      unwrap(api.DELETE('/api/projects/{projectId}/insights/{id}', { params: { path: { projectId, id } } })),
    { done: 'Insight deleted', quiet: true },
  )
  const rename = (id: string, name: string) =>
    unwrap(
      api.PATCH('/api/projects/{projectId}/insights/{id}', {
        params: { path: { projectId, id } },
        body: { name },
      }),
    )
  const columns: Column<Insight>[] = [
    {
      title: 'Name',
      sort: ({ name }) => name,
      cell: (insight) => <InsightLink insight={insight} />,
    },
    { title: 'Kind', wide: true, sort: ({ kind }) => kind, cell: ({ kind }) => <Badge>{kind}</Badge> },
    changedColumn,
    ...(mayEdit
      ? ([
          {
            title: 'Actions',
            align: 'right',
            cell: (insight) => (
              <span className="flex flex-wrap justify-end gap-1.5">
                <Button small onClick={() => setSearch({ add: insight.id })}>
                  Add to dashboard
                </Button>
                <Button small onClick={() => setSearch({ rename: insight.id })}>
                  Rename
                </Button>
                <ConfirmButton
                  small
                  label="Delete"
                  title={`Delete ${insight.name}?`}
                  confirm="Delete insight"
                  onConfirm={() => remove.mutateAsync(insight.id)}
                >
                  It is removed from all dashboards.
                </ConfirmButton>
              </span>
            ),
          },
        ] satisfies Column<Insight>[])
      : []),
  ]
  return (
    <>
      <ExploreHeader />
      <Card>
        <DataTable
          label="Insights"
          list={insights}
          keyOf={({ id }) => id}
          columns={columns}
          empty={
            <EmptyState icon="explore" title="No saved insights yet">
              <p className="mb-4">
                Run a query in <TrendsLink /> and save it, or save one by API.
              </p>
              <For atLeast="editor">
                <ApiCommand
                  does="saves an insight"
                  resource="insights"
                  body={{
                    name: 'Events a day',
                    kind: 'trends',
                    query: { series: [{ metric: 'events' }], interval: 'day' },
                  }}
                />
              </For>
            </EmptyState>
          }
        />
      </Card>
      <Modal open={renaming !== undefined} onClose={close} title="Rename insight">
        {renaming && (
          <RenameForm name={renaming.name} save={(name) => rename(renaming.id, name)} onDone={close} />
        )}
      </Modal>
      <Modal open={adding !== undefined} onClose={close} title="Add to dashboard">
        {adding && <DashboardForm insight={adding} onDone={close} />}
      </Modal>
    </>
  )
}

const TrendsLink = () => (
  <Link
    to="/p/$projectId/explore/trends"
    params={{ projectId: useProjectId() }}
    className="rounded underline hover:text-text"
  >
    Trends
  </Link>
)
