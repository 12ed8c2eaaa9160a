import { Link } from '@tanstack/react-router'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import type { EventDefinition } from '../api/types.ts'
import { useNavigateFromHere, useUrlState } from '../api/url-state.ts'
import { ApiCommand } from '../ui/api-command.tsx'
import { Button, For } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { changedColumn } from '../ui/columns.tsx'
import { Modal } from '../ui/dialog.tsx'
import { formatNumber } from '../ui/format.tsx'
import { EmptyState } from '../ui/states.tsx'
import { DataTable, rowLinkClass, TruncatedName, truncatedClass } from '../ui/table.tsx'
import { DefinitionForm } from './definition-form.tsx'
import { CatalogHeader } from './header.tsx'

const propertiesOf = ({ schema }: EventDefinition): string[] =>
  Object.keys((schema.properties as object | undefined) ?? {})

/** The event definitions of the project. */
export const Definitions = () => {
  const projectId = useProjectId()
  const navigate = useNavigateFromHere()
  const [search, setSearch] = useUrlState<'new'>()
  const list = useList<EventDefinition>([projectId, 'definitions'], (cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/event-definitions', {
        params: { path: { projectId }, query: { limit: 50, ...cursor } },
      }),
    ),
  )
  const open = ({ id }: EventDefinition) =>
    void navigate({ to: '/p/$projectId/catalog/$id', params: { projectId, id } })
  const close = () => setSearch({ new: '' }, { replace: true })
  const create = (
    <For atLeast="editor">
      <Button look="primary" icon="plus" onClick={() => setSearch({ new: '1' })}>
        Define event
      </Button>
    </For>
  )
  return (
    <>
      <CatalogHeader actions={create} />
      <Card>
        <DataTable
          label="Definitions"
          list={list}
          keyOf={({ id }) => id}
          onOpen={open}
          columns={[
            {
              title: 'Event',
              sort: ({ name }) => name,
              cell: ({ id, name, description }) => (
                <>
                  <Link to="/p/$projectId/catalog/$id" params={{ projectId, id }} className={rowLinkClass}>
                    <TruncatedName>{name}</TruncatedName>
                  </Link>
                  {description && <span className={`${truncatedClass} text-muted`}>{description}</span>}
                </>
              ),
            },
            {
              title: 'Properties',
              wide: true,
              cell: (row) => (
                <span className="block max-w-72 truncate text-muted">
                  {propertiesOf(row).join(', ') || 'any'}
                </span>
              ),
            },
            {
              title: 'Version',
              align: 'right',
              cell: ({ version }) => formatNumber(version),
              sort: ({ version }) => version,
            },
            changedColumn,
          ]}
          empty={
            <EmptyState icon="catalog" title="No event is defined yet" action={create}>
              <p className="mb-4">
                A definition says what an event consists of. Its schema can be inferred from events that came
                already.
              </p>
              <For atLeast="editor">
                <ApiCommand
                  does="defines an event"
                  resource="event-definitions"
                  body={{
                    name: 'order_placed',
                    schema: {
                      type: 'object',
                      required: ['total'],
                      properties: { total: { type: 'number' } },
                    },
                  }}
                />
              </For>
            </EmptyState>
          }
        />
      </Card>
      <For atLeast="editor">
        <Modal open={search.new === '1'} onClose={close} title="Define event" wide>
          <DefinitionForm onDone={open} onCancel={close} />
        </Modal>
      </For>
    </>
  )
}
