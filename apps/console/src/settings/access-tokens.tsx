import { useState } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useAccount, useProject } from '../api/session.ts'
import type { AccessToken } from '../api/types.ts'
import { useUrlDialog } from '../api/url-state.ts'
import { Button } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { CodeBlock } from '../ui/code.tsx'
import { ConfirmButton, Modal } from '../ui/dialog.tsx'
import { Form, Input, Select } from '../ui/form.tsx'
import { Time } from '../ui/format.tsx'
import { ShownOnce } from '../ui/shown-once.tsx'
import { EmptyState } from '../ui/states.tsx'
import { DataTable, wrappedClass } from '../ui/table.tsx'

const DAY_MS = 24 * 3_600_000

/** The user's personal access tokens, each shown once. */
export const AccessTokens = () => {
  const account = useAccount()
  const [dialog, openDialog, closeDialog] = useUrlDialog<'create'>('viewer')
  const [made, setMade] = useState<string>()
  const list = useList<AccessToken>(['access-tokens'], (cursor) =>
    unwrap(api.GET('/api/auth/access-tokens', { params: { query: { limit: 50, ...cursor } } })),
  )
  const revoke = useChange(
    (id: string) => unwrap(api.DELETE('/api/auth/access-tokens/{id}', { params: { path: { id } } })),
    { done: 'Token revoked', quiet: true },
  )
  const namesOf = (ids: AccessToken['projectIds']) =>
    ids === null
      ? 'all projects'
      : ids.map((id) => account?.projects.find((one) => one.id === id)?.name ?? 'a former project').join(', ')
  return (
    <Card
      title="Access tokens"
      description="For programs that use the API as you, with your role."
      className="lg:col-span-2"
      actions={
        <Button small icon="plus" onClick={() => openDialog('create')}>
          Create token
        </Button>
      }
    >
      <DataTable
        label="Access tokens"
        list={list}
        keyOf={({ id }) => id}
        columns={[
          {
            title: 'Name',
            cell: ({ name }) => <span className={`${wrappedClass} font-medium`}>{name}</span>,
            sort: ({ name }) => name,
          },
          { title: 'Projects', wide: true, cell: ({ projectIds }) => namesOf(projectIds) },
          {
            title: 'Last used',
            align: 'right',
            wide: true,
            cell: ({ lastUsedAt }) => <Time at={lastUsedAt} as="ago" />,
            sort: ({ lastUsedAt }) => lastUsedAt,
          },
          {
            title: 'Expires',
            align: 'right',
            cell: ({ expiresAt }) => <Time at={expiresAt} as="day" />,
            sort: ({ expiresAt }) => expiresAt,
          },
          {
            title: 'Actions',
            align: 'right',
            cell: ({ id, name }) => (
              <ConfirmButton
                small
                label="Revoke"
                title={`Revoke ${name}?`}
                confirm="Revoke"
                onConfirm={() => revoke.mutateAsync(id)}
              >
                Requests with it are refused at once.
              </ConfirmButton>
            ),
          },
        ]}
        empty={
          <EmptyState icon="key" title="No access tokens">
            <p className="mb-4">Create one, and send it with each request.</p>
            <CodeBlock
              label="Command that lists your projects"
              text={`curl '${location.origin}/api/projects' \\
  -H 'Authorization: Bearer <access token>'`}
            />
          </EmptyState>
        }
      />
      <Modal open={dialog === 'create'} onClose={closeDialog} title="Create token">
        <TokenForm
          onCancel={closeDialog}
          onDone={(token) => {
            closeDialog()
            setMade(token)
          }}
        />
      </Modal>
      <ShownOnce title="Your new token" label="New token" secret={made} onClose={() => setMade(undefined)}>
        {' '}
        Programs send it as <code>Authorization: Bearer</code>.
      </ShownOnce>
    </Card>
  )
}

const TokenForm = ({ onDone, onCancel }: { onDone: (token: string) => void; onCancel: () => void }) => {
  const project = useProject()
  const create = useChange(
    ({ name = '', days = '30', scope }: Record<string, string>) =>
      unwrap(
        api.POST('/api/auth/access-tokens', {
          body: {
            name,
            projectIds: scope === 'all' || !project ? null : [project.id],
            expiresAt: new Date(Date.now() + Number(days) * DAY_MS).toISOString(),
          },
        }),
      ),
    { quiet: true, onDone: ({ token }) => onDone(token) },
  )
  return (
    <Form
      submit="Create token"
      busy={create.isPending}
      error={create.error}
      names={['name']}
      onCancel={onCancel}
      onSubmit={(values) => create.mutate(values)}
    >
      <Input label="Name" name="name" required maxLength={200} placeholder="Nightly report" />
      <Select
        label="Projects"
        name="scope"
        defaultValue="one"
        options={[
          ['one', `Only ${project?.name ?? 'this project'}`],
          ['all', 'All of mine, also later ones'],
        ]}
      />
      <Select
        label="Expires after"
        name="days"
        defaultValue="30"
        options={[
          ['7', '7 days'],
          ['30', '30 days'],
          ['90', '90 days'],
          ['365', '1 year'],
        ]}
      />
    </Form>
  )
}
