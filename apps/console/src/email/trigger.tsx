import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import { useNavigateFromHere } from '../api/url-state.ts'
import { Status } from '../ui/badge.tsx'
import { Button, For } from '../ui/button.tsx'
import { PageHeader } from '../ui/card.tsx'
import { ConfirmButton } from '../ui/dialog.tsx'
import { formatNumber } from '../ui/format.tsx'
import { PageWithoutData } from '../ui/page-without-data.tsx'
import { TriggerEditor } from './trigger-editor.tsx'

/** One trigger, or a new one. */
export const Trigger = () => {
  const projectId = useProjectId()
  const { id } = useParams({ strict: false }) as { id: string }
  const navigate = useNavigateFromHere()
  const isNew = id === 'new'
  const params = { path: { projectId, id } }
  const trigger = useQuery({
    queryKey: [projectId, 'trigger', id],
    enabled: !isNew,
    queryFn: () => unwrap(api.GET('/api/projects/{projectId}/email-triggers/{id}', { params })),
  })
  const stats = useQuery({
    queryKey: [projectId, 'trigger', id, 'stats'],
    enabled: !isNew,
    queryFn: () => unwrap(api.GET('/api/projects/{projectId}/email-triggers/{id}/stats', { params })),
  })
  const setStatus = useChange(
    (status: 'active' | 'paused') =>
      unwrap(api.PATCH('/api/projects/{projectId}/email-triggers/{id}', { params, body: { status } })),
    { done: ({ status }) => `The trigger is ${status}` },
  )
  const archive = useChange(
    async () => {
      await unwrap(api.DELETE('/api/projects/{projectId}/email-triggers/{id}', { params }))
      await navigate({ to: '/p/$projectId/email', params: { projectId }, ignoreBlocker: true })
    },
    { done: 'Trigger archived', quiet: true },
  )
  const back = { to: '/p/$projectId/email', params: { projectId }, label: 'Email' } as const
  if (isNew)
    return (
      <>
        <PageHeader back={back} title="New trigger" />
        <TriggerEditor
          onDone={(made) =>
            void navigate({
              to: '/p/$projectId/email/$id',
              params: { projectId, id: made.id },
              ignoreBlocker: true,
            })
          }
        />
      </>
    )
  if (!trigger.data) return <PageWithoutData title="Trigger" back={back} query={trigger} />
  const { name, status } = trigger.data
  return (
    <>
      <PageHeader
        back={back}
        title={name}
        aside={<Status status={status} />}
        actions={
          status !== 'archived' && (
            <For atLeast="editor">
              <Button
                look={status === 'active' ? 'secondary' : 'primary'}
                icon={status === 'active' ? 'pause' : 'play'}
                busy={setStatus.isPending}
                onClick={() => setStatus.mutate(status === 'active' ? 'paused' : 'active')}
              >
                {status === 'active' ? 'Pause' : 'Activate'}
              </Button>
              <ConfirmButton
                label="Archive"
                title={`Archive ${name}?`}
                confirm="Archive"
                onConfirm={() => archive.mutateAsync()}
              >
                It sends nothing any more.
              </ConfirmButton>
            </For>
          )
        }
      />
      {stats.data && (
        <p className="mb-4 text-muted">
          Emails:{' '}
          {Object.entries(stats.data.counts)
            .flatMap(([name, count]) => (count > 0 ? [`${formatNumber(count)} ${name}`] : []))
            .join(', ') || 'none yet'}
        </p>
      )}
      <TriggerEditor key={id} trigger={trigger.data} onDone={() => undefined} />
    </>
  )
}
