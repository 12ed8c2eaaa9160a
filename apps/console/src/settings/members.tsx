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
  const isAdmin = useMay('admin')
  const [dialog, openDialog, closeDialog] = useUrlDialog<'invite'>('admin')
  const [token, setToken] = useState<string>()
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
        <MemberList />
        <InvitationList />
      </div>
      <InviteDialog open={dialog === 'invite'} onClose={closeDialog} onInvited={setToken} />
      <InvitationLink token={token} onClose={() => setToken(undefined)} />
    </>
  )
}

const MemberList = () => {
  const projectId = useProjectId()
  const ownId = useAccount()?.user.id
  const mayChange = useMayChange()
  const members = useList<Member>([projectId, 'members'], (cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/members', {
        params: { path: { projectId }, query: { limit: 50, ...cursor } },
      }),
    ),
  )
  return (
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
                    Second factor:{' '}
                    <span className="inline-block">
                      <SecondFactor member={member} />
                    </span>
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
                  <RoleSelect member={member} />
                  <NarrowLine>
                    <span className="mt-2 flex">
                      <RemoveMember member={member} />
                    </span>
                  </NarrowLine>
                </>
              ) : (
                member.role
              ),
          },
          {
            title: 'Second factor',
            wide: true,
            cell: (member) => <SecondFactor member={member} />,
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
            cell: (member) => (mayChange(member) ? <RemoveMember member={member} /> : null),
          },
        ]}
        empty={<EmptyState icon="people" title="No members" />}
      />
    </Card>
  )
}

/** Whether the signed-in user may change or remove a member. */
const useMayChange = (): ((member: Member) => boolean) => {
  const role = useProject()?.role
  const ownId = useAccount()?.user.id
  return (member) => member.id !== ownId && roleAllows(role, member.role)
}

/** The roles that the signed-in user may give. */
const useOfferedRoles = (): typeof ROLES => {
  const role = useProject()?.role
  return ROLES.filter(([one]) => roleAllows(role, one))
}

const RoleSelect = ({ member: { id, name, role } }: { member: Member }) => {
  const projectId = useProjectId()
  const offered = useOfferedRoles()
  const change = useChange(
    (next: Role) =>
      unwrap(
        api.PATCH('/api/projects/{projectId}/members/{id}', {
          params: { path: { projectId, id } },
          body: { role: next },
        }),
      ),
    { done: (changed) => `${changed.name} is ${changed.role} now` },
  )
  return (
    <Select
      label={`Role of ${name}`}
      hideLabel
      className="min-w-24"
      value={role}
      onChange={(event) => change.mutate(roleOf(event.target.value))}
      options={offered.map(([one]) => [one, one] as const)}
    />
  )
}

const RemoveMember = ({ member: { id, name } }: { member: Member }) => {
  const projectId = useProjectId()
  const remove = useChange(
    () =>
      unwrap(
        api.DELETE('/api/projects/{projectId}/members/{id}', {
          params: { path: { projectId, id }, query: { apiKeys: 'handOver' } },
        }),
      ),
    { done: 'Member removed', quiet: true },
  )
  return (
    <ConfirmButton
      small
      label="Remove"
      title={`Remove ${name}?`}
      confirm="Remove"
      onConfirm={() => remove.mutateAsync()}
    >
      They cannot see the project any more. Their keys become yours.
    </ConfirmButton>
  )
}

/** Whether a member has a second factor. Owners may reset it. */
const SecondFactor = ({ member: { id, name, hasSecondFactor } }: { member: Member }) => {
  const projectId = useProjectId()
  const role = useProject()?.role
  const ownId = useAccount()?.user.id
  const reset = useChange(
    () =>
      unwrap(
        api.DELETE('/api/projects/{projectId}/members/{id}/second-factor', {
          params: { path: { projectId, id } },
        }),
      ),
    { done: 'Second factor removed', quiet: true },
  )
  return (
    <span className="flex flex-wrap items-center gap-2">
      {hasSecondFactor ? 'yes' : 'no'}
      {hasSecondFactor && role === 'owner' && id !== ownId && (
        <ConfirmButton
          small
          label="Reset"
          title={`Remove the second factor of ${name}?`}
          confirm="Remove it"
          onConfirm={() => reset.mutateAsync()}
        >
          For someone who has lost their phone and their recovery codes. Make sure that it is the member who
          asks. They are signed out, and sign in with the password only.
        </ConfirmButton>
      )}
    </span>
  )
}

const InvitationList = () => {
  const projectId = useProjectId()
  const invitations = useList<Invitation>([projectId, 'invitations'], (cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/invitations', {
        params: { path: { projectId }, query: { limit: 50, ...cursor } },
      }),
    ),
  )
  return (
    <Card title="Invitations">
      <DataTable
        label="Invitations"
        list={invitations}
        keyOf={({ id }) => id}
        columns={[
          {
            title: 'Email',
            cell: ({ email, expiresAt, status, role }) => (
              <>
                <span className={`${wrappedClass} font-medium`}>{email}</span>
                <NarrowLine>
                  <Status status={status} /> {role}, until <Time at={expiresAt} as="day" />
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
            cell: (invitation) =>
              invitation.status === 'pending' ? <RevokeInvitation invitation={invitation} /> : null,
          },
        ]}
        empty={
          <EmptyState icon="email" title="No open invitations">
            An invitation is a link that you pass on.
          </EmptyState>
        }
      />
    </Card>
  )
}

const RevokeInvitation = ({ invitation: { id, email } }: { invitation: Invitation }) => {
  const projectId = useProjectId()
  const revoke = useChange(
    () =>
      unwrap(
        api.DELETE('/api/projects/{projectId}/invitations/{id}', { params: { path: { projectId, id } } }),
      ),
    { done: 'Invitation revoked', quiet: true },
  )
  return (
    <ConfirmButton
      small
      label="Revoke"
      title={`Revoke the invitation of ${email}?`}
      confirm="Revoke"
      onConfirm={() => revoke.mutateAsync()}
    >
      The link that they have stops working.
    </ConfirmButton>
  )
}

type InviteDialogProps = { open: boolean; onClose: () => void; onInvited: (token: string) => void }

const InviteDialog = ({ open, onClose, onInvited }: InviteDialogProps) => {
  const projectId = useProjectId()
  const offered = useOfferedRoles()
  const invite = useChange(
    (body: { email: string; role: Role }) =>
      unwrap(api.POST('/api/projects/{projectId}/invitations', { params: { path: { projectId } }, body })),
    {
      quiet: true,
      onDone: (made) => {
        onClose()
        onInvited(made.token)
      },
    },
  )
  return (
    <Modal open={open} onClose={onClose} title="Invite someone">
      <Form
        submit="Create invitation"
        busy={invite.isPending}
        error={invite.error}
        names={['email']}
        onCancel={onClose}
        onSubmit={({ email = '', as }) => invite.mutate({ email, role: roleOf(as) })}
      >
        <Input label="Email" name="email" type="email" required />
        <Select label="Role" name="as" options={offered} defaultValue="viewer" />
      </Form>
    </Modal>
  )
}

/** Shows the link of a new invitation, once. */
const InvitationLink = ({ token, onClose }: { token: string | undefined; onClose: () => void }) => (
  <Modal open={token !== undefined} onClose={onClose} title="Invitation created">
    <div className="flex flex-col gap-4">
      <Notice tone="warning">Send this link to them. It is shown once, and valid once, for 7 days.</Notice>
      <CodeBlock
        label="Link of the invitation"
        text={`${location.origin}/console/invitation?token=${encodeURIComponent(token ?? '')}`}
      />
    </div>
  </Modal>
)
