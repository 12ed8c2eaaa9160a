import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useMay, useProjectId } from '../api/session.ts'
import type { Share } from '../api/types.ts'
import { useUrlState } from '../api/url-state.ts'
import { Button } from '../ui/button.tsx'
import { ConfirmButton, Modal } from '../ui/dialog.tsx'
import { Form, fromLocalInput, Input, LOCAL_TIME_HINT } from '../ui/form.tsx'
import { Time } from '../ui/format.tsx'
import { ShownOnce } from '../ui/shown-once.tsx'
import { EmptyState } from '../ui/states.tsx'
import { DataTable } from '../ui/table.tsx'

type Target = { kind: Share['kind']; dashboardId?: string; name: string }

/** Opens the secret links to a dashboard or to the web analytics, which admins create and revoke. */
export const ShareButton = (target: Target) => {
  const [search, set] = useUrlState<'share'>()
  const [url, setUrl] = useState<string>()
  const may = useMay('admin')
  if (!may) return null
  const close = () => set({ share: '' }, { replace: true })
  return (
    <>
      <Button onClick={() => set({ share: '1' })}>Share</Button>
      <Modal
        open={search.share === '1' && url === undefined}
        onClose={close}
        title={`Share ${target.name}`}
        description="Who has a link sees the figures without signing in, but no people."
        wide
      >
        <div className="flex flex-col gap-6">
          <Shares {...target} />
          <ShareForm {...target} onDone={(share) => setUrl(share.url)} />
        </div>
      </Modal>
      <ShownOnce title="Secret link" label="Address" secret={url} onClose={() => setUrl(undefined)} />
    </>
  )
}

const Shares = ({ kind, dashboardId }: Target) => {
  const projectId = useProjectId()
  const list = useList<Share>([projectId, 'shares'], (cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/shares', {
        params: { path: { projectId }, query: { limit: 100, ...cursor } },
      }),
    ),
  )
  const revoke = useChange(
    (id: string) =>
      unwrap(api.DELETE('/api/projects/{projectId}/shares/{id}', { params: { path: { projectId, id } } })),
    { done: 'The link no longer works', quiet: true },
  )
  const own = list.rows.filter((share) => share.kind === kind && share.dashboardId === (dashboardId ?? null))
  return (
    <DataTable
      label="Links"
      list={{ ...list, rows: own }}
      keyOf={({ id }) => id}
      columns={[
        { title: 'Name', sort: ({ name }) => name, cell: ({ name }) => name },
        {
          title: 'Expires',
          sort: ({ expiresAt }) => expiresAt,
          cell: ({ expiresAt }) => (expiresAt === null ? 'Never' : <Time at={expiresAt} />),
        },
        { title: 'Password', cell: ({ hasPassword }) => (hasPassword ? 'Yes' : 'No') },
        { title: 'In frames of', cell: ({ frameHosts }) => frameHosts.join(', ') || '–' },
        {
          title: '',
          align: 'right',
          cell: ({ id, name }) => (
            <ConfirmButton
              small
              label="Revoke"
              title={`Revoke ${name}?`}
              confirm="Revoke link"
              onConfirm={() => revoke.mutateAsync(id)}
            >
              It ends at once, also for those who have it open.
            </ConfirmButton>
          ),
        },
      ]}
      empty={<EmptyState icon="links" title="No links yet" />}
    />
  )
}

const ShareForm = ({
  kind,
  dashboardId,
  name: target,
  onDone,
}: Target & { onDone: (share: { url: string }) => void }) => {
  const projectId = useProjectId()
  const create = useChange(
    ({ name = '', password = '', expiresAt, frameHosts = '' }: Record<string, string>) =>
      unwrap(
        api.POST('/api/projects/{projectId}/shares', {
          params: { path: { projectId } },
          body: {
            kind,
            name,
            ...(dashboardId !== undefined && { dashboardId }),
            ...(password !== '' && { password }),
            expiresAt: fromLocalInput(expiresAt),
            frameHosts: frameHosts.split(/[\s,]+/).filter(Boolean),
          },
        }),
      ),
    { quiet: true, onDone },
  )
  return (
    <Form
      submit="Create link"
      busy={create.isPending}
      error={create.error}
      names={['name', 'password', 'expiresAt', 'frameHosts']}
      onSubmit={(values) => create.mutate(values)}
    >
      <Input label="Name" name="name" required maxLength={200} defaultValue={target} />
      <Input
        label="Expires"
        name="expiresAt"
        type="datetime-local"
        hint={`Left empty, it works until it is revoked. ${LOCAL_TIME_HINT}`}
      />
      <Input
        label="Password"
        name="password"
        type="password"
        autoComplete="new-password"
        minLength={8}
        maxLength={128}
        hint="Left empty, the link is enough."
      />
      <Input
        label="Sites that may show it in a frame"
        name="frameHosts"
        placeholder="wiki.example.com"
        hint="Hosts, separated by commas. Left empty, none may."
      />
    </Form>
  )
}
