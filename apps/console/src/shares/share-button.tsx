import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useMay, useProjectId } from '../api/session.ts'
import type { Share } from '../api/types.ts'
import { useUrlState } from '../api/url-state.ts'
import { Button } from '../ui/button.tsx'
import { ConfirmButton, Modal } from '../ui/dialog.tsx'
import { editedTime, Form, Input, LOCAL_TIME_HINT, Select, toLocalInput } from '../ui/form.tsx'
import { Time } from '../ui/format.tsx'
import { ShownOnce } from '../ui/shown-once.tsx'
import { EmptyState } from '../ui/states.tsx'
import { DataTable } from '../ui/table.tsx'

type Target = { kind: Share['kind']; dashboardId?: string; name: string }

/** Opens the secret links to a dashboard or to the web analytics, which admins create, change and revoke. */
export const ShareButton = (target: Target) => {
  const [search, set] = useUrlState<'share'>()
  const [url, setUrl] = useState<string>()
  const [edited, setEdited] = useState<Share>()
  const may = useMay('admin')
  if (!may) return null
  const close = () => {
    setEdited(undefined)
    set({ share: '' }, { replace: true })
  }
  const stopEditing = () => setEdited(undefined)
  return (
    <>
      <Button onClick={() => set({ share: '1' })}>Share</Button>
      <Modal
        open={search.share === '1' && url === undefined}
        onClose={close}
        title={edited ? `Change ${edited.name}` : `Share ${target.name}`}
        description={
          edited
            ? 'The address of the link stays the same.'
            : 'Whoever has a link sees the figures without signing in, but no people.'
        }
        wide
      >
        {edited ? (
          <ShareForm {...target} share={edited} onDone={stopEditing} onCancel={stopEditing} />
        ) : (
          <div className="flex flex-col gap-6">
            <Shares {...target} onEdit={setEdited} />
            <ShareForm {...target} onDone={(created) => setUrl(created?.url)} />
          </div>
        )}
      </Modal>
      <ShownOnce title="Secret link" label="Address" secret={url} onClose={() => setUrl(undefined)} />
    </>
  )
}

const Shares = ({ kind, dashboardId, onEdit }: Target & { onEdit: (share: Share) => void }) => {
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
          cell: (share) => (
            <span className="flex justify-end gap-2">
              <Button small onClick={() => onEdit(share)}>
                Edit
              </Button>
              <ConfirmButton
                small
                label="Revoke"
                title={`Revoke ${share.name}?`}
                confirm="Revoke link"
                onConfirm={() => revoke.mutateAsync(share.id)}
              >
                It ends at once, also for those who have it open.
              </ConfirmButton>
            </span>
          ),
        },
      ]}
      empty={<EmptyState icon="links" title="No links yet" />}
    />
  )
}

/** What the password of a link that has one becomes. */
const PASSWORD_CHANGES = [
  ['keep', 'Stays'],
  ['replace', 'Is replaced'],
  ['remove', 'Is removed'],
] as const
type PasswordChange = (typeof PASSWORD_CHANGES)[number][0]

/** Creates a link, whose secret is in the answer, or changes one. */
const ShareForm = ({
  kind,
  dashboardId,
  name: target,
  share,
  onDone,
  onCancel,
}: Target & {
  share?: Share
  onDone: (created: { url: string } | undefined) => void
  onCancel?: () => void
}) => {
  const projectId = useProjectId()
  const [passwordChange, setPasswordChange] = useState<PasswordChange>(
    share?.hasPassword ? 'keep' : 'replace',
  )
  const save = useChange(
    async (values: Record<string, string>) => {
      const { name = '', password = '', frameHosts = '' } = values
      const expiresAt = editedTime(values.expiresAt, share?.expiresAt)
      const body = {
        name,
        // A time in the past is refused, also one that a link had before.
        ...(expiresAt !== (share?.expiresAt ?? null) && { expiresAt }),
        ...(password !== '' && { password }),
        ...(passwordChange === 'remove' && { password: null }),
        frameHosts: frameHosts.split(/[\s,]+/).filter(Boolean),
      }
      if (!share)
        return unwrap(
          api.POST('/api/projects/{projectId}/shares', {
            params: { path: { projectId } },
            body: { ...body, kind, ...(dashboardId !== undefined && { dashboardId }) },
          }),
        )
      await unwrap(
        api.PATCH('/api/projects/{projectId}/shares/{id}', {
          params: { path: { projectId, id: share.id } },
          body,
        }),
      )
      return undefined
    },
    { quiet: true, onDone, ...(share && { done: 'Saved' }) },
  )
  return (
    <Form
      submit={share ? 'Save' : 'Create link'}
      busy={save.isPending}
      error={save.error}
      names={['name', 'password', 'expiresAt', 'frameHosts']}
      onSubmit={(values) => save.mutate(values)}
      {...(onCancel && { onCancel })}
    >
      <Input label="Name" name="name" required maxLength={200} defaultValue={share?.name ?? target} />
      <Input
        label="Expires"
        name="expiresAt"
        type="datetime-local"
        hint={`Left empty, it works until it is revoked. ${LOCAL_TIME_HINT}`}
        defaultValue={toLocalInput(share?.expiresAt)}
      />
      {share?.hasPassword && (
        <Select
          label="The password"
          value={passwordChange}
          onChange={({ target: { value } }) =>
            setPasswordChange(PASSWORD_CHANGES.find(([change]) => change === value)?.[0] ?? 'keep')
          }
          options={PASSWORD_CHANGES}
          hint={passwordChange === 'keep' ? undefined : PASSWORD_HINTS[passwordChange]}
        />
      )}
      {passwordChange === 'replace' && (
        <Input
          label={share?.hasPassword ? 'New password' : 'Password'}
          name="password"
          type="password"
          autoComplete="new-password"
          required={share?.hasPassword ?? false}
          minLength={8}
          maxLength={128}
          hint={share?.hasPassword ? undefined : 'Left empty, the link is enough.'}
        />
      )}
      <Input
        label="Sites that may show it in a frame"
        name="frameHosts"
        placeholder="wiki.example.com"
        hint="Hosts, separated by commas. Left empty, none may."
        defaultValue={share?.frameHosts.join(', ')}
      />
    </Form>
  )
}

const PASSWORD_HINTS: Record<Exclude<PasswordChange, 'keep'>, string> = {
  replace: 'Those who gave the old one are asked again.',
  remove: 'The link is then enough.',
}
