import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useMay, useProjectId } from '../api/session.ts'
import type { Webhook } from '../api/types.ts'
import { useNavigateFromHere, useUrlState } from '../api/url-state.ts'
import { SettingsHeader } from '../settings/header.tsx'
import { EditorsOnly } from '../settings/role-required.tsx'
import { ApiCommand } from '../ui/api-command.tsx'
import { Button, For } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { changedColumn, statusColumn } from '../ui/columns.tsx'
import { Modal } from '../ui/dialog.tsx'
import { Time } from '../ui/format.tsx'
import { EmptyState } from '../ui/states.tsx'
import { DataTable, rowLinkClass } from '../ui/table.tsx'
import { SecretDialog } from './secret-dialog.tsx'
import { WebhookForm } from './webhook-form.tsx'

/** The project's webhooks. */
export const Webhooks = () => {
  const projectId = useProjectId()
  const navigate = useNavigateFromHere()
  const mayRead = useMay('editor')
  const isAdmin = useMay('admin')
  const [search, setSearch] = useUrlState<'new'>()
  const [made, setMade] = useState<{ id: string; secret: string }>()
  const list = useList<Webhook>(
    [projectId, 'webhooks'],
    (cursor) =>
      unwrap(
        api.GET('/api/projects/{projectId}/webhooks', {
          params: { path: { projectId }, query: { limit: 50, ...cursor } },
        }),
      ),
    { enabled: mayRead, refetchInterval: 10_000 },
  )
  const open = ({ id }: { id: string }) =>
    void navigate({ to: '/p/$projectId/settings/webhooks/$id', params: { projectId, id } })
  const close = () => setSearch({ new: '' }, { replace: true })
  if (!mayRead) return <EditorsOnly />
  const create = (
    <For atLeast="admin">
      <Button look="primary" icon="plus" onClick={() => setSearch({ new: '1' })}>
        Create webhook
      </Button>
    </For>
  )
  return (
    <>
      <SettingsHeader actions={create} />
      <Card>
        <DataTable
          label="Webhooks"
          list={list}
          keyOf={({ id }) => id}
          onOpen={open}
          columns={[
            {
              title: 'Webhook',
              sort: ({ url }) => url,
              cell: ({ id, url, topics }) => (
                <div className="max-w-96 min-w-36">
                  <Link
                    to="/p/$projectId/settings/webhooks/$id"
                    params={{ projectId, id }}
                    className={`${rowLinkClass} wrap-anywhere`}
                  >
                    {url}
                  </Link>
                  <span className="block text-muted">{topics.join(', ')}</span>
                </div>
              ),
            },
            statusColumn,
            {
              title: 'Failing since',
              wide: true,
              align: 'right',
              cell: ({ failingSince }) => <Time at={failingSince} as="ago" />,
              sort: ({ failingSince }) => failingSince,
            },
            changedColumn,
          ]}
          empty={
            <EmptyState icon="external" title="No webhooks yet" action={create}>
              <p className="mb-4">
                A webhook posts events, conversions, clicks and redemptions to a URL of yours as they happen.{' '}
                {isAdmin
                  ? 'Create one, keep its secret, and send it a test.'
                  : 'Ask an admin of the project to create one.'}
              </p>
              <For atLeast="admin">
                <ApiCommand
                  does="creates a webhook"
                  resource="webhooks"
                  scope="manage:admin"
                  body={{ url: 'https://shop.example/waymark', topics: ['event', 'conversion'] }}
                />
              </For>
            </EmptyState>
          }
        />
      </Card>
      <Modal open={isAdmin && search.new !== undefined} onClose={close} title="Create webhook">
        <WebhookForm
          onCancel={close}
          onDone={({ id, secret }) => {
            close()
            if (secret !== undefined) setMade({ id, secret })
          }}
        />
      </Modal>
      <SecretDialog secret={made?.secret} onClose={() => made && open(made)} />
    </>
  )
}
