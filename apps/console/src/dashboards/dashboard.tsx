import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import type { Dashboard } from '../api/types.ts'
import { useNavigateFromHere, useUrlDialog, useUrlState } from '../api/url-state.ts'
import { PeopleSheet } from '../explore/people-sheet.tsx'
import { formatRange, parseRange } from '../explore/time-range.ts'
import { ShareButton } from '../shares/share-button.tsx'
import { Button, For } from '../ui/button.tsx'
import { Card, PageHeader } from '../ui/card.tsx'
import { ConfirmButton, Modal } from '../ui/dialog.tsx'
import { Form, Select } from '../ui/form.tsx'
import { PageWithoutData } from '../ui/page-without-data.tsx'
import { RenameForm } from '../ui/rename-form.tsx'
import { EmptyState } from '../ui/states.tsx'
import { addToDashboard, useInsights } from './dashboard-api.ts'
import { Tile } from './tile.tsx'
import { Tiles } from './tiles.tsx'

/** A dashboard: its insights with their results. */
export const DashboardPage = () => {
  const projectId = useProjectId()
  const navigate = useNavigateFromHere()
  const { id } = useParams({ strict: false }) as { id: string }
  const params = { path: { projectId, id } }
  const [search, setSearch] = useUrlState<'range' | 'from' | 'to'>()
  const range = parseRange(search)
  const [dialog, openDialog, closeDialog] = useUrlDialog<'rename' | 'add'>('editor')
  const dashboard = useQuery({
    queryKey: [projectId, 'dashboard', id],
    queryFn: () => unwrap(api.GET('/api/projects/{projectId}/dashboards/{id}', { params })),
  })
  const arrange = useChange((insightIds: string[]) =>
    unwrap(api.PATCH('/api/projects/{projectId}/dashboards/{id}', { params, body: { insightIds } })),
  )
  const rename = (name: string) =>
    unwrap(api.PATCH('/api/projects/{projectId}/dashboards/{id}', { params, body: { name } }))
  const remove = useChange(
    () => unwrap(api.DELETE('/api/projects/{projectId}/dashboards/{id}', { params })),
    {
      done: 'Dashboard deleted',
      quiet: true,
      leave: () => navigate({ to: '/p/$projectId/dashboards', params: { projectId } }),
    },
  )
  const back = { to: '/p/$projectId/dashboards', params: { projectId }, label: 'Dashboards' } as const
  if (!dashboard.data) return <PageWithoutData title="Dashboard" back={back} query={dashboard} />
  const { name, insightIds } = dashboard.data
  const add = (
    <For atLeast="editor">
      <Button look="primary" icon="plus" onClick={() => openDialog('add')}>
        Add insight
      </Button>
    </For>
  )
  const move = (from: number, to: number) => {
    const moved = insightIds[from]
    if (moved) arrange.mutate(insightIds.toSpliced(from, 1).toSpliced(to, 0, moved))
  }
  return (
    <>
      <PageHeader
        back={back}
        title={name}
        actions={
          <For atLeast="editor">
            <ShareButton kind="dashboard" dashboardId={id} name={name} />
            <Button onClick={() => openDialog('rename')}>Rename</Button>
            <ConfirmButton
              label="Delete"
              title={`Delete ${name}?`}
              confirm="Delete dashboard"
              onConfirm={() => remove.mutateAsync()}
            >
              Its insights stay saved.
            </ConfirmButton>
            {add}
          </For>
        }
      />
      {insightIds.length === 0 ? (
        <Card>
          <EmptyState icon="dashboards" title="Nothing on this dashboard yet" action={add}>
            Add a saved insight, or save a new one in Explore.
          </EmptyState>
        </Card>
      ) : (
        <Tiles range={range} onRange={(next) => setSearch(formatRange(next))}>
          {insightIds.map((insightId, index) => (
            <Tile
              key={insightId}
              insightId={insightId}
              range={range}
              onRemove={() => arrange.mutate(insightIds.filter((one) => one !== insightId))}
              {...(index > 0 && { onEarlier: () => move(index, index - 1) })}
              {...(index < insightIds.length - 1 && { onLater: () => move(index, index + 1) })}
            />
          ))}
        </Tiles>
      )}
      <Modal open={dialog === 'rename'} onClose={closeDialog} title="Rename dashboard">
        <RenameForm name={name} save={rename} onDone={closeDialog} />
      </Modal>
      <Modal open={dialog === 'add'} onClose={closeDialog} title="Add insight">
        <AddForm dashboard={dashboard.data} onDone={closeDialog} />
      </Modal>
      <PeopleSheet />
    </>
  )
}

const AddForm = ({ dashboard, onDone }: { dashboard: Dashboard; onDone: () => void }) => {
  const projectId = useProjectId()
  const insights = useInsights()
  const left = insights.rows.filter(({ id }) => !dashboard.insightIds.includes(id))
  const add = useChange(
    ({ insight = '' }: Record<string, string>) => addToDashboard(projectId, dashboard.id, insight),
    { quiet: true, onDone },
  )
  return (
    <Form
      submit="Add"
      busy={add.isPending}
      error={add.error}
      onSubmit={(values) => add.mutate(values)}
      onCancel={onDone}
    >
      <Select
        label="Insight"
        name="insight"
        required
        defaultValue=""
        options={[
          ['', 'Choose one'],
          ...left.map(({ id, name, kind }) => [id, `${name} (${kind})`] as const),
        ]}
        {...(!insights.isPending &&
          left.length === 0 && { hint: 'There is no other insight: save one in Explore.' })}
      />
    </Form>
  )
}
