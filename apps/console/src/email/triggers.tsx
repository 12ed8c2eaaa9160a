import { Link, useNavigate } from '@tanstack/react-router'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import type { EmailTrigger } from '../api/types.ts'
import { ApiCommand } from '../ui/api-command.tsx'
import { buttonClass, For } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { changedColumn, statusColumn } from '../ui/columns.tsx'
import { Icon } from '../ui/icon.tsx'
import { EmptyState } from '../ui/states.tsx'
import { DataTable, rowLinkClass, truncatedClass } from '../ui/table.tsx'
import { EmailHeader } from './header.tsx'

/** The email triggers of the project. */
export const Triggers = () => {
  const projectId = useProjectId()
  const navigate = useNavigate()
  const list = useList<EmailTrigger>([projectId, 'triggers'], (cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/email-triggers', {
        params: { path: { projectId }, query: { limit: 50, ...cursor } },
      }),
    ),
  )
  const create = (
    <For atLeast="editor">
      <Link to="/p/$projectId/email/$id" params={{ projectId, id: 'new' }} className={buttonClass('primary')}>
        <Icon name="plus" /> Create trigger
      </Link>
    </For>
  )
  return (
    <>
      <EmailHeader actions={create} />
      <Card>
        <DataTable
          label="Triggers"
          list={list}
          keyOf={({ id }) => id}
          onOpen={({ id }) => void navigate({ to: '/p/$projectId/email/$id', params: { projectId, id } })}
          columns={[
            {
              title: 'Trigger',
              sort: ({ name }) => name,
              cell: ({ id, name, subject }) => (
                <>
                  <Link to="/p/$projectId/email/$id" params={{ projectId, id }} className={rowLinkClass}>
                    {name}
                  </Link>
                  <span className={`${truncatedClass} text-muted`}>{subject}</span>
                </>
              ),
            },
            {
              title: 'Event',
              wide: true,
              cell: ({ eventName }) => eventName,
              sort: ({ eventName }) => eventName,
            },
            statusColumn,
            changedColumn,
          ]}
          empty={
            <EmptyState icon="email" title="No emails yet" action={create}>
              <p className="mb-4">
                A trigger sends an email whenever an event arrives, to people whose email address is known.
              </p>
              <For atLeast="editor">
                <ApiCommand
                  does="creates a trigger"
                  resource="email-triggers"
                  body={{
                    name: 'Welcome',
                    eventName: 'signed_up',
                    subject: 'Welcome, {{traits.name}}',
                    html: '<h1>Hello {{traits.name}}</h1>',
                  }}
                />
              </For>
            </EmptyState>
          }
        />
      </Card>
    </>
  )
}
