import { Link } from '@tanstack/react-router'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import type { Segment } from '../api/types.ts'
import { useNavigateFromHere, useUrlDialog } from '../api/url-state.ts'
import { PeopleHeader } from '../people/header.tsx'
import { ApiCommand } from '../ui/api-command.tsx'
import { Button, For } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { changedColumn } from '../ui/columns.tsx'
import { EmptyState } from '../ui/states.tsx'
import { DataTable, rowLinkClass } from '../ui/table.tsx'
import { wordsOf } from './condition.ts'
import { SegmentForm } from './segment-form.tsx'

const DESCRIPTION = 'Named groups of people, for the rules of decisions.'

/** The project's segments. */
export const Segments = () => {
  const projectId = useProjectId()
  const navigate = useNavigateFromHere()
  const [dialog, openDialog, closeDialog] = useUrlDialog<'new'>('editor')
  const list = useList<Segment>([projectId, 'segments'], (cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/segments', {
        params: { path: { projectId }, query: { limit: 50, ...cursor } },
      }),
    ),
  )
  const open = ({ key }: Segment) =>
    void navigate({ to: '/p/$projectId/people/segments/$key', params: { projectId, key } })
  // Not in a dialog, which would hide the suggestions of its fields from screen readers.
  if (dialog === 'new')
    return (
      <>
        <PeopleHeader description={DESCRIPTION} />
        <Card title="Create segment" padded>
          <SegmentForm onCancel={closeDialog} onDone={open} />
        </Card>
      </>
    )
  const create = (
    <For atLeast="editor">
      <Button look="primary" icon="plus" onClick={() => openDialog('new')}>
        Create segment
      </Button>
    </For>
  )
  return (
    <>
      <PeopleHeader description={DESCRIPTION} actions={create} />
      <Card>
        <DataTable
          label="Segments"
          list={list}
          keyOf={({ id }) => id}
          onOpen={open}
          columns={[
            {
              title: 'Segment',
              sort: ({ name }) => name,
              cell: ({ key, name }) => (
                <>
                  <Link
                    to="/p/$projectId/people/segments/$key"
                    params={{ projectId, key }}
                    className={rowLinkClass}
                  >
                    {name}
                  </Link>
                  <span className="block text-muted">{key}</span>
                </>
              ),
            },
            {
              title: 'Condition',
              wide: true,
              cell: ({ condition }) => wordsOf(condition).join(condition.match === 'any' ? ' or ' : ' and '),
            },
            changedColumn,
          ]}
          empty={
            <EmptyState icon="people" title="No segments yet" action={create}>
              <p className="mb-4">
                A segment is a group of people by their traits and by how often they had events. A rule of a
                decision refers to it by its key.
              </p>
              <For atLeast="editor">
                <ApiCommand
                  does="creates a segment"
                  resource="segments"
                  body={{
                    key: 'regulars',
                    name: 'Regular customers',
                    condition: { counts: [{ eventName: 'order_placed', days: 30, op: 'gte', value: 3 }] },
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
