import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useMay, useProjectId } from '../api/session.ts'
import type { ApiKey } from '../api/types.ts'
import { useUrlState } from '../api/url-state.ts'
import { PRODUCTION } from '../decisions/environment-select.tsx'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { ConfirmButton, Modal } from '../ui/dialog.tsx'
import { Time } from '../ui/format.tsx'
import { ShownOnce } from '../ui/shown-once.tsx'
import { EmptyState } from '../ui/states.tsx'
import { DataTable } from '../ui/table.tsx'
import { SettingsHeader } from './header.tsx'
import { KeyForm } from './key-form.tsx'
import { AdminsOnly } from './role-required.tsx'

/** API keys, each shown once. */
export const Keys = () => {
  const projectId = useProjectId()
  const isAdmin = useMay('admin')
  const [search, setSearch] = useUrlState<'new' | 'edit'>()
  const [made, setMade] = useState<string>()
  const list = useList<ApiKey>(
    [projectId, 'keys'],
    (cursor) =>
      unwrap(
        api.GET('/api/projects/{projectId}/api-keys', {
          params: { path: { projectId }, query: { limit: 50, ...cursor } },
        }),
      ),
    { enabled: isAdmin },
  )
  const revoke = useChange(
    (id: string) =>
      unwrap(api.DELETE('/api/projects/{projectId}/api-keys/{id}', { params: { path: { projectId, id } } })),
    { done: 'Key revoked', quiet: true },
  )
  const rotate = useChange(
    (id: string) =>
      unwrap(
        api.POST('/api/projects/{projectId}/api-keys/{id}/rotate', {
          params: { path: { projectId, id } },
          body: { overlapSeconds: 86_400 },
        }),
      ),
    { quiet: true, onDone: ({ key }) => setMade(key) },
  )
  if (!isAdmin) return <AdminsOnly />
  const close = () => setSearch({ new: '', edit: '' }, { replace: true })
  const edited = list.rows.find(({ id }) => id === search.edit)
  const create = (
    <Button look="primary" icon="plus" onClick={() => setSearch({ new: '1' })}>
      Create key
    </Button>
  )
  return (
    <>
      <SettingsHeader actions={create} />
      <Card>
        <DataTable
          label="API keys"
          list={list}
          keyOf={({ id }) => id}
          columns={[
            {
              title: 'Key',
              sort: ({ name }) => name,
              cell: ({ name, kind, keyId }) => (
                <>
                  <span className="font-medium">{name}</span>
                  <code className="block font-mono text-muted">{`wm_${kind}_${keyId}…`}</code>
                </>
              ),
            },
            {
              title: 'For',
              wide: true,
              cell: ({ kind, environment }) => (
                <span className="flex flex-wrap gap-1">
                  <Badge tone={kind === 'pub' ? 'info' : 'neutral'}>
                    {kind === 'pub' ? 'browsers' : 'servers'}
                  </Badge>
                  {environment !== PRODUCTION && <Badge tone="warning">{environment}</Badge>}
                </span>
              ),
            },
            {
              title: 'Scopes',
              wide: true,
              cell: ({ scopes }) => <span className="block max-w-72 text-muted">{scopes.join(', ')}</span>,
            },
            {
              title: 'Last used',
              align: 'right',
              wide: true,
              cell: ({ lastUsedAt }) => <Time at={lastUsedAt} as="ago" />,
              sort: ({ lastUsedAt }) => lastUsedAt,
            },
            {
              title: 'Actions',
              align: 'right',
              cell: ({ id, name, revokedAt }) =>
                revokedAt ? (
                  <Badge tone="danger">revoked</Badge>
                ) : (
                  <span className="inline-flex flex-wrap justify-end gap-2">
                    <Button small onClick={() => setSearch({ edit: id })}>
                      Edit
                    </Button>
                    <ConfirmButton
                      small
                      label="Rotate"
                      title={`Replace ${name}?`}
                      confirm="Create a new key"
                      onConfirm={() => rotate.mutateAsync(id)}
                    >
                      A new key with the same scopes is shown once. The old one works for another day.
                    </ConfirmButton>
                    <ConfirmButton
                      small
                      label="Revoke"
                      title={`Revoke ${name}?`}
                      confirm="Revoke"
                      onConfirm={() => revoke.mutateAsync(id)}
                    >
                      Requests with it are refused within five seconds.
                    </ConfirmButton>
                  </span>
                ),
            },
          ]}
          empty={
            <EmptyState icon="key" title="No keys yet" action={create}>
              Shops and browsers send events with a key, and programs use the API with one.
            </EmptyState>
          }
        />
      </Card>
      <Modal open={search.new === '1'} onClose={close} title="Create key">
        <KeyForm
          onCancel={close}
          onDone={({ key }) => {
            close()
            setMade(key)
          }}
        />
      </Modal>
      <Modal open={edited !== undefined} onClose={close} title={`Edit ${edited?.name ?? ''}`}>
        {edited && <KeyForm apiKey={edited} onCancel={close} onDone={close} />}
      </Modal>
      <ShownOnce title="Your new key" label="New key" secret={made} onClose={() => setMade(undefined)} />
    </>
  )
}
