import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import type { Insight } from '../api/types.ts'
import { useUrlDialog, useUrlState } from '../api/url-state.ts'
import { addToDashboard, useDashboards } from '../dashboards/dashboard-api.ts'
import { Button, For } from '../ui/button.tsx'
import { Modal } from '../ui/dialog.tsx'
import { Form, Input, Select } from '../ui/form.tsx'
import type { Kind } from './query-types.ts'
import { formatQuery, readSaved, toSaved } from './query-url.ts'
import type { QueryState } from './use-query-state.ts'

/** Buttons that save the query, for users with the permission. */
export const SaveActions = <K extends Kind>({
  state,
  saved,
}: {
  state: QueryState<K>
  saved: Insight | undefined
}) => {
  const projectId = useProjectId()
  const [dialog, openDialog, close] = useUrlDialog<'save' | 'dashboard'>('editor')
  const { kind, validQuery, range } = state
  const update = useChange(
    (insight: Insight) =>
      unwrap(
        api.PATCH('/api/projects/{projectId}/insights/{id}', {
          params: { path: { projectId, id: insight.id } },
          body: { kind, query: validQuery ? toSaved(kind, validQuery, range) : {} },
        }),
      ),
    { done: ({ name }) => `${name} saved` },
  )
  return (
    <For atLeast="editor">
      {saved && (
        <>
          <Button icon="dashboards" onClick={() => openDialog('dashboard')}>
            Add to dashboard
          </Button>
          {isChanged(state, saved) && (
            <Button busy={update.isPending} disabled={!validQuery} onClick={() => update.mutate(saved)}>
              Save changes
            </Button>
          )}
        </>
      )}
      <Button look="primary" disabled={validQuery === undefined} onClick={() => openDialog('save')}>
        {saved ? 'Save as new' : 'Save'}
      </Button>
      <Modal open={dialog === 'save' && validQuery !== undefined} onClose={close} title="Save insight">
        <SaveForm state={state} onCancel={close} />
      </Modal>
      <Modal open={dialog === 'dashboard' && saved !== undefined} onClose={close} title="Add to dashboard">
        {saved && <DashboardForm insight={saved} onDone={close} />}
      </Modal>
    </For>
  )
}

const isChanged = <K extends Kind>({ kind, validQuery, range }: QueryState<K>, saved: Insight): boolean => {
  if (validQuery === undefined) return false
  const next = readSaved(kind, toSaved(kind, validQuery, range))
  const last = readSaved(kind, saved.query)
  const texts = [next, last].map((one) => JSON.stringify([formatQuery(kind, one.query), one.range]))
  return texts[0] !== texts[1]
}

const SaveForm = <K extends Kind>({
  state: { kind, validQuery, range },
  onCancel,
}: {
  state: QueryState<K>
  onCancel: () => void
}) => {
  const projectId = useProjectId()
  const [, setSearch] = useUrlState<'insight' | 'open'>()
  const save = useChange(
    async ({ name = '', dashboard }: Record<string, string>) => {
      const made = await unwrap(
        api.POST('/api/projects/{projectId}/insights', {
          params: { path: { projectId } },
          body: { name, kind, query: validQuery ? toSaved(kind, validQuery, range) : {} },
        }),
      )
      if (dashboard) await addToDashboard(projectId, dashboard, made.id)
      return made
    },
    {
      quiet: true,
      done: ({ name }) => `${name} saved`,
      onDone: ({ id }) => setSearch({ insight: id, open: '' }, { replace: true }),
    },
  )
  return (
    <Form
      submit="Save insight"
      busy={save.isPending}
      error={save.error}
      names={['name']}
      onSubmit={(values) => save.mutate(values)}
      onCancel={onCancel}
    >
      <Input label="Name" name="name" required maxLength={200} />
      <DashboardSelect optional />
      {'preset' in range && (
        <p className="text-muted">
          It is saved without its time range, which each reader selects. A range between two times is saved
          with it.
        </p>
      )}
    </Form>
  )
}

const DashboardSelect = ({ optional = false }: { optional?: boolean }) => {
  const dashboards = useDashboards()
  return (
    <Select
      label="Dashboard"
      name="dashboard"
      required={!optional}
      defaultValue=""
      options={[
        ['', optional ? 'None' : 'Choose one'],
        ...dashboards.rows.map(({ id, name }) => [id, name] as const),
      ]}
      {...(dashboards.rows.length === 0 && {
        hint: 'There is none yet: create one on the page Dashboards.',
      })}
    />
  )
}

/** Selects the dashboard of an insight. */
export const DashboardForm = ({ insight, onDone }: { insight: Insight; onDone: () => void }) => {
  const projectId = useProjectId()
  const add = useChange(
    ({ dashboard = '' }: Record<string, string>) => addToDashboard(projectId, dashboard, insight.id),
    { quiet: true, done: ({ name }) => `${insight.name} is on ${name}`, onDone },
  )
  return (
    <Form
      submit="Add"
      busy={add.isPending}
      error={add.error}
      onSubmit={(values) => add.mutate(values)}
      onCancel={onDone}
    >
      <DashboardSelect />
    </Form>
  )
}
