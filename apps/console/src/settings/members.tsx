import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { roleAllows, useAccount, useMay, useProject, useProjectId } from '../api/session.ts'
import type { Invitation, Member, Role } from '../api/types.ts'
import { useUrlDialog } from '../api/url-state.ts'
import { Badge, Status } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { CodeBlock } from '../ui/code.tsx'
import { statusColumn } from '../ui/columns.tsx'
import { ConfirmButton, Modal } from '../ui/dialog.tsx'
import { Form, Input, Select } from '../ui/form.tsx'
import { Time } from '../ui/format.tsx'
import { EmptyState, Notice } from '../ui/states.tsx'
import { DataTable, NarrowLine, wrappedClass } from '../ui/table.tsx'
import { SettingsHeader } from './header.tsx'
import { AdminsOnly } from './role-required.tsx'

const ROLES: readonly (readonly [Role, string])[] = [
  ['viewer', 'viewer: looks at everything'],
  ['editor', 'editor: also changes links, coupons, decisions'],
  ['admin', 'admin: also manages members, keys, settings'],
  ['owner', 'owner: also archives the project'],
]

const roleOf = (text: string | undefined): Role => ROLES.find(([role]) => role === text)?.[0] ?? 'viewer'

/** The members of the project and their roles. */
export const Members = () => {
  const projectId = useProjectId()
  const isAdmin = useMay('admin')
  const role = useProject()?.role
  const ownId = useAccount()?.user.id
  const path = { projectId }
  const [dialog, openDialog, closeDialog] = useUrlDialog<'invite'>('admin')
  const [token, setToken] = useState<string>()
  const members = useList<Member>(
    [projectId, 'members'],
    (cursor) =>
      unwrap(
        api.GET('/api/projects/{projectId}/members', { params: { path, query: { limit: 50, ...cursor } } }),
      ),
    { enabled: isAdmin },
  )
  const invitations = useList<Invitation>(
    [projectId, 'invitations'],
    (cursor) =>
      unwrap(
        api.GET('/api/projects/{projectId}/invitations', {
          params: { path, query: { limit: 50, ...cursor } },
        }),
      ),
    { enabled: isAdmin },
  )
  const invite = useChange(
    (body: { email: string; role: Role }) =>
      unwrap(api.POST('/api/projects/{projectId}/invitations', { params: { path }, body })),
    {
      quiet: true,
      onDone: (made) => {
        closeDialog()
        setToken(made.token)
      },
    },
  )
  const change = useChange(
    ({ id, role: next }: { id: string; role: Role }) =>
      unwrap(
        api.PATCH('/api/projects/{projectId}/members/{id}', {
          params: { path: { projectId, id } },
          body: { role: next },
        }),
      ),
    { done: ({ name, role: now }) => `${name} is ${now} now` },
  )
  const remove = useChange(
    (id: string) =>
      unwrap(
        api.DELETE('/api/projects/{projectId}/members/{id}', {
          params: { path: { projectId, id }, query: { apiKeys: 'handOver' } },
        }),
      ),
    { done: 'Member removed', quiet: true },
  )
  const revoke = useChange(
    (id: string) =>
      unwrap(
        api.DELETE('/api/projects/{projectId}/invitations/{id}', { params: { path: { projectId, id } } }),
      ),
    { done: 'Invitation revoked', quiet: true },
  )
  const resetFactor = useChange(
    (id: string) =>
      unwrap(
        api.DELETE('/api/projects/{projectId}/members/{id}/second-factor', {
          params: { path: { projectId, id } },
        }),
      ),
    { done: 'Second factor removed', quiet: true },
  )
  const offered = ROLES.filter(([one]) => roleAllows(role, one))
  const mayChange = (member: Member): boolean => member.id !== ownId && roleAllows(role, member.role)
  const removal = ({ id, name }: Member) => (
    <ConfirmButton
      small
      label="Remove"
      title={`Remove ${name}?`}
      confirm="Remove"
      onConfirm={() => remove.mutateAsync(id)}
    >
      They cannot see the project any more. Their keys become yours.
    </ConfirmButton>
  )
  const secondFactor = ({ id, name, hasSecondFactor }: Member) => (
    <span className="flex flex-wrap items-center gap-2">
      {hasSecondFactor ? 'yes' : 'no'}
      {hasSecondFactor && role === 'owner' && id !== ownId && (
        <ConfirmButton
          small
          label="Reset"
          title={`Remove the second factor of ${name}?`}
          confirm="Remove it"
          onConfirm={() => resetFactor.mutateAsync(id)}
        >
          For someone who has lost their phone and their recovery codes. Make sure that it is the member who
          asks. They are signed out, and sign in with the password only.
        </ConfirmButton>
      )}
    </span>
  )
  if (!isAdmin) return <AdminsOnly />
  return (
    <>
      <SettingsHeader
        actions={
          <Button look="primary" icon="plus" onClick={() => openDialog('invite')}>
            Invite
          </Button>
        }
      />
      <div className="flex flex-col gap-4">
        <Card title="Members">
          <DataTable
            label="Members"
            list={members}
            keyOf={({ id }) => id}
            columns={[
              {
                title: 'Member',
                sort: ({ name }) => name,
                cell: (member) => (
                  <>
                    <span className="font-medium">
                      {member.name} {member.id === ownId && <Badge>you</Badge>}
                    </span>
                    <span className={`${wrappedClass} text-muted`}>{member.email}</span>
                    {member.hasSecondFactor && (
                      <NarrowLine>
                        Second factor: <span className="inline-block">{secondFactor(member)}</span>
                      </NarrowLine>
                    )}
                  </>
                ),
              },
              {
                title: 'Role',
                sort: (member) => member.role,
                cell: (member) =>
                  mayChange(member) ? (
                    <>
                      <Select
                        label={`Role of ${member.name}`}
                        hideLabel
                        className="min-w-24"
                        value={member.role}
                        onChange={(event) =>
                          change.mutate({ id: member.id, role: roleOf(event.target.value) })
                        }
                        options={offered.map(([one]) => [one, one] as const)}
                      />
                      <NarrowLine>
                        <span className="mt-2 flex">{removal(member)}</span>
                      </NarrowLine>
                    </>
                  ) : (
                    member.role
                  ),
              },
              {
                title: 'Second factor',
                wide: true,
                cell: secondFactor,
                sort: ({ hasSecondFactor }) => `${hasSecondFactor}`,
              },
              {
                title: 'Since',
                align: 'right',
                wide: true,
                cell: ({ createdAt }) => <Time at={createdAt} as="day" />,
                sort: ({ createdAt }) => createdAt,
              },
              {
                title: 'Actions',
                align: 'right',
                wide: true,
                cell: (member) => (mayChange(member) ? removal(member) : null),
              },
            ]}
            empty={<EmptyState icon="people" title="No members" />}
          />
        </Card>
        <Card title="Invitations">
          <DataTable
            label="Invitations"
            list={invitations}
            keyOf={({ id }) => id}
            columns={[
              {
                title: 'Email',
                cell: ({ email, expiresAt, status, role: invited }) => (
                  <>
                    <span className={`${wrappedClass} font-medium`}>{email}</span>
                    <NarrowLine>
                      <Status status={status} /> {invited}, until <Time at={expiresAt} as="day" />
                    </NarrowLine>
                  </>
                ),
                sort: ({ email }) => email,
              },
              { title: 'Role', wide: true, cell: (invitation) => invitation.role },
              { ...statusColumn, wide: true },
              {
                title: 'Expires',
                align: 'right',
                wide: true,
                cell: ({ expiresAt }) => <Time at={expiresAt} as="day" />,
              },
              {
                title: 'Actions',
                align: 'right',
                cell: ({ id, email, status }) =>
                  status === 'pending' ? (
                    <ConfirmButton
                      small
                      label="Revoke"
                      title={`Revoke the invitation of ${email}?`}
                      confirm="Revoke"
                      onConfirm={() => revoke.mutateAsync(id)}
                    >
                      The link that they have stops working.
                    </ConfirmButton>
                  ) : null,
              },
            ]}
            empty={
              <EmptyState icon="email" title="No open invitations">
                An invitation is a link that you pass on.
              </EmptyState>
            }
          />
        </Card>
      </div>
      <Modal open={dialog === 'invite'} onClose={closeDialog} title="Invite someone">
        <Form
          submit="Create invitation"
          busy={invite.isPending}
          error={invite.error}
          names={['email']}
          onCancel={closeDialog}
          onSubmit={({ email = '', as }) => invite.mutate({ email, role: roleOf(as) })}
        >
          <Input label="Email" name="email" type="email" required />
          <Select label="Role" name="as" options={offered} defaultValue="viewer" />
        </Form>
      </Modal>
      <Modal open={token !== undefined} onClose={() => setToken(undefined)} title="Invitation created">
        <div className="flex flex-col gap-4">
          <Notice tone="warning">
            Send this link to them. It is shown once, and valid once, for 7 days.
          </Notice>
          <CodeBlock
            label="Link of the invitation"
            text={`${location.origin}/console/invitation?token=${encodeURIComponent(token ?? '')}`}
          />
        </div>
      </Modal>
    </>
  )
}
