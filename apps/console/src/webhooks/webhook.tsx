import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useMay, useProjectId } from '../api/session.ts'
import type { Webhook } from '../api/types.ts'
import { useNavigateFromHere, useUrlDialog } from '../api/url-state.ts'
import { EditorsOnly } from '../settings/role-required.tsx'
import { Status } from '../ui/badge.tsx'
import { Button, For } from '../ui/button.tsx'
import { Card, Facts, PageHeader } from '../ui/card.tsx'
import { Json } from '../ui/code.tsx'
import { ConfirmButton, Modal } from '../ui/dialog.tsx'
import { Time } from '../ui/format.tsx'
import { PageWithoutData } from '../ui/page-without-data.tsx'
import { Notice } from '../ui/states.tsx'
import { Deliveries } from './deliveries.tsx'
import { SecretDialog } from './secret-dialog.tsx'
import { WebhookForm } from './webhook-form.tsx'

/** How long messages have a signature by the previous secret as well, in seconds. */
const OVERLAP_SECONDS = 86_400

/** One webhook and its deliveries. */
export const WebhookPage = () => {
  const projectId = useProjectId()
  const navigate = useNavigateFromHere()
  const mayRead = useMay('editor')
  const { id } = useParams({ strict: false }) as { id: string }
  const params = { path: { projectId, id } }
  const [dialog, openDialog, closeDialog] = useUrlDialog<'edit'>('admin')
  const [secret, setSecret] = useState<string>()
  const webhook = useQuery({
    queryKey: [projectId, 'webhook', id],
    queryFn: () => unwrap(api.GET('/api/projects/{projectId}/webhooks/{id}', { params })),
    enabled: mayRead,
    refetchInterval: 10_000,
  })
  const setStatus = useChange(
    (status: Webhook['status']) =>
      unwrap(api.PATCH('/api/projects/{projectId}/webhooks/{id}', { params, body: { status } })),
    { done: ({ status }) => (status === 'active' ? 'The webhook is active' : 'The webhook is paused') },
  )
  const rotate = useChange(
    () =>
      unwrap(
        api.POST('/api/projects/{projectId}/webhooks/{id}/rotate-secret', {
          params,
          body: { overlapSeconds: OVERLAP_SECONDS },
        }),
      ),
    { quiet: true, onDone: (rotated) => setSecret(rotated.secret) },
  )
  const test = useChange(() => unwrap(api.POST('/api/projects/{projectId}/webhooks/{id}/test', { params })), {
    done: 'A test is sent; its delivery is listed below',
  })
  const remove = useChange(() => unwrap(api.DELETE('/api/projects/{projectId}/webhooks/{id}', { params })), {
    done: 'Webhook deleted',
    quiet: true,
    leave: () => navigate({ to: '/p/$projectId/settings/webhooks', params: { projectId } }),
  })
  if (!mayRead) return <EditorsOnly />
  const back = { to: '/p/$projectId/settings/webhooks', params: { projectId }, label: 'Webhooks' } as const
  if (!webhook.data) return <PageWithoutData title="Webhook" back={back} query={webhook} />
  const { url, topics, eventNames, filter, status, createdAt, previousSecretExpiresAt } = webhook.data
  const { host } = new URL(url)
  const isActive = status === 'active'
  const sendTest = (
    <Button icon="play" busy={test.isPending} onClick={() => test.mutate()}>
      Send test
    </Button>
  )
  return (
    <>
      <PageHeader
        back={back}
        title={host}
        aside={<Status status={status} />}
        actions={
          <>
            {sendTest}
            <For atLeast="admin">
              <Button onClick={() => openDialog('edit')}>Edit</Button>
              <Button
                icon={isActive ? 'pause' : 'play'}
                busy={setStatus.isPending}
                onClick={() => setStatus.mutate(isActive ? 'paused' : 'active')}
              >
                {isActive ? 'Pause' : 'Activate'}
              </Button>
              <ConfirmButton
                label="Rotate secret"
                title={`Replace the secret of ${host}?`}
                confirm="Create a new secret"
                onConfirm={() => rotate.mutateAsync()}
              >
                A new secret is shown once. Messages have a signature by each of the two for another day.
              </ConfirmButton>
              <ConfirmButton
                label="Delete"
                title={`Delete the webhook to ${host}?`}
                confirm="Delete webhook"
                onConfirm={() => remove.mutateAsync()}
              >
                Its deliveries are deleted too, and what waits is not sent.
              </ConfirmButton>
            </For>
          </>
        }
      />
      <StateNotice webhook={webhook.data} />
      <div className="grid gap-4 lg:grid-cols-3">
        <Card title="Webhook" padded className="self-start">
          <Facts
            rows={[
              [
                'URL',
                <span key="u" className="wrap-anywhere">
                  {url}
                </span>,
              ],
              ['Topics', topics.join(', ')],
              ['Event names', eventNames.join(', ') || 'all'],
              ['Created', <Time key="c" at={createdAt} as="day" />],
              ...(previousSecretExpiresAt && Date.parse(previousSecretExpiresAt) > Date.now()
                ? [['Old secret ends', <Time key="o" at={previousSecretExpiresAt} as="ago" />] as const]
                : []),
            ]}
          />
          {filter != null && (
            <section className="mt-4">
              <h3 className="mb-2 font-semibold">Filter</h3>
              <Json label="Filter" value={filter} />
            </section>
          )}
        </Card>
        <div className="min-w-0 lg:col-span-2">
          <Deliveries webhookId={id} isActive={isActive} sendTest={sendTest} />
        </div>
      </div>
      <Modal open={dialog === 'edit'} onClose={closeDialog} title="Edit webhook">
        <WebhookForm webhook={webhook.data} onDone={closeDialog} onCancel={closeDialog} />
      </Modal>
      <SecretDialog secret={secret} onClose={() => setSecret(undefined)} />
    </>
  )
}

const PAUSED_REASONS: Record<string, string> = {
  gone: 'Paused because the endpoint answered 410.',
  failing: 'Paused because no attempt succeeded for 3 days.',
}

/** Says why nothing is delivered, and what to do. */
const StateNotice = ({ webhook }: { webhook: Webhook }) => {
  const { status, pausedReason, failingSince } = webhook
  if (status === 'active' && failingSince === null) return null
  return (
    <div className="mb-4">
      <Notice tone="warning">
        {status === 'active' ? (
          <>
            The endpoint has failed since <Time at={failingSince} />. What waits is sent again for 3 days. The
            deliveries show its answers.
          </>
        ) : (
          <>
            {PAUSED_REASONS[pausedReason ?? ''] ?? 'Paused.'} What waits is sent once the webhook is active
            again; what happens until then is not delivered.
          </>
        )}
      </Notice>
    </div>
  )
}
