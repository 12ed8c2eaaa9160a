import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import { useNavigateFromHere, useUrlDialog, useUrlRow } from '../api/url-state.ts'
import { Badge } from '../ui/badge.tsx'
import { Button, For } from '../ui/button.tsx'
import { Card, PageHeader } from '../ui/card.tsx'
import { Json } from '../ui/code.tsx'
import { ConfirmButton, Modal } from '../ui/dialog.tsx'
import { Time } from '../ui/format.tsx'
import { PageWithoutData } from '../ui/page-without-data.tsx'
import { EmptyState } from '../ui/states.tsx'
import { DataTable, rowLinkClass } from '../ui/table.tsx'
import { DefinitionForm } from './definition-form.tsx'

type Version = { version: number; schema: unknown; createdAt: string }

/** An event definition and the versions of its schema. */
export const Definition = () => {
  const projectId = useProjectId()
  const { id } = useParams({ strict: false }) as { id: string }
  const navigate = useNavigateFromHere()
  const params = { path: { projectId, id } }
  const [dialog, openDialog, closeDialog] = useUrlDialog<'edit'>('editor')
  const definition = useQuery({
    queryKey: [projectId, 'definition', id],
    queryFn: () => unwrap(api.GET('/api/projects/{projectId}/event-definitions/{id}', { params })),
  })
  const versions = useList<Version>([projectId, 'definition-versions', id], (cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/event-definitions/{id}/versions', {
        params: { path: { projectId, id }, query: { limit: 20, ...cursor } },
      }),
    ),
  )
  const [shown, show, hide] = useUrlRow(versions.rows, (one) => `${one.version}`)
  const archive = useChange(
    () => unwrap(api.DELETE('/api/projects/{projectId}/event-definitions/{id}', { params })),
    {
      done: 'Definition archived',
      quiet: true,
      leave: () => navigate({ to: '/p/$projectId/catalog', params: { projectId } }),
    },
  )
  const back = { to: '/p/$projectId/catalog', params: { projectId }, label: 'Catalog' } as const
  if (!definition.data) return <PageWithoutData title="Definition" back={back} query={definition} />
  const { name, description, version, schema } = definition.data
  return (
    <>
      <PageHeader
        back={back}
        title={name}
        description={description}
        aside={<Badge>version {version}</Badge>}
        actions={
          <For atLeast="editor">
            <Button onClick={() => openDialog('edit')}>Edit</Button>
            <ConfirmButton
              label="Archive"
              title={`Archive ${name}?`}
              confirm="Archive"
              onConfirm={() => archive.mutateAsync()}
            >
              Events of this name are not checked any more.
            </ConfirmButton>
          </For>
        }
      />
      <div className="grid gap-4 lg:grid-cols-3">
        <Card title="Schema" padded className="lg:col-span-2">
          <Json label="Schema" value={schema} />
        </Card>
        <Card title="Versions">
          <DataTable
            label="Versions"
            list={versions}
            keyOf={(one) => `${one.version}`}
            onOpen={show}
            columns={[
              {
                title: 'Version',
                cell: (one) => (
                  <button type="button" className={rowLinkClass} onClick={() => show(one)}>
                    {one.version}
                  </button>
                ),
              },
              { title: 'Since', align: 'right', cell: ({ createdAt }) => <Time at={createdAt} as="day" /> },
            ]}
            empty={<EmptyState icon="catalog" title="No versions" />}
          />
        </Card>
      </div>
      <Modal open={dialog === 'edit'} onClose={closeDialog} title={`Edit ${name}`} wide>
        <DefinitionForm definition={definition.data} onDone={closeDialog} onCancel={closeDialog} />
      </Modal>
      <Modal as="sheet" open={shown !== undefined} onClose={hide} title={`Version ${shown?.version}`}>
        <Json label="Schema of the version" value={shown?.schema} />
      </Modal>
    </>
  )
}
