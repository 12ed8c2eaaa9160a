import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import type { RejectedEvent } from '../api/types.ts'
import { useUrlRow } from '../api/url-state.ts'
import { Card } from '../ui/card.tsx'
import { Json } from '../ui/code.tsx'
import { Modal } from '../ui/dialog.tsx'
import { Time } from '../ui/format.tsx'
import { EmptyState, Notice } from '../ui/states.tsx'
import { DataTable, NarrowLine, rowLinkClass, truncatedClass, wrappedClass } from '../ui/table.tsx'
import { CatalogHeader } from './header.tsx'
import { ReplayAllButton, ReplayButton, replayedColumn } from './replay.tsx'

/** Events that did not match their schema, which can be replayed after a change of the schema. */
export const Rejected = () => {
  const projectId = useProjectId()
  const path = { projectId }
  const list = useList<RejectedEvent>([projectId, 'rejected'], (cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/rejected-events', {
        params: { path, query: { limit: 50, ...cursor } },
      }),
    ),
  )
  const [open, setOpen, close] = useUrlRow(list.rows, ({ id }) => id)
  const replay = useChange(
    (id: string) =>
      unwrap(
        api.POST('/api/projects/{projectId}/rejected-events/{id}/replay', {
          params: { path: { projectId, id } },
        }),
      ),
    { done: 'Sent again', onDone: close },
  )
  return (
    <>
      <CatalogHeader
        actions={
          <ReplayAllButton
            rows={list.rows}
            replay={(after) =>
              unwrap(
                api.POST('/api/projects/{projectId}/rejected-events/replay', {
                  params: { path },
                  body: after,
                }),
              )
            }
          />
        }
      />
      <Card>
        <DataTable
          label="Rejected events"
          list={list}
          keyOf={({ id }) => id}
          onOpen={setOpen}
          columns={[
            {
              title: 'Event',
              sort: ({ eventName }) => eventName,
              cell: (row) => (
                <span className={wrappedClass}>
                  <button type="button" className={rowLinkClass} onClick={() => setOpen(row)}>
                    {row.eventName}
                  </button>
                  <NarrowLine>
                    {reasonOf(row)}, <Time at={row.rejectedAt} as="ago" />
                  </NarrowLine>
                </span>
              ),
            },
            {
              title: 'Why',
              wide: true,
              cell: (row) => <span className={`${truncatedClass} text-muted`}>{reasonOf(row)}</span>,
            },
            replayedColumn,
            {
              title: 'Rejected',
              align: 'right',
              wide: true,
              cell: ({ rejectedAt }) => <Time at={rejectedAt} as="ago" />,
              sort: ({ rejectedAt }) => rejectedAt,
            },
          ]}
          empty={
            <EmptyState icon="check" title="Nothing was rejected">
              In the validation mode “enforce”, events that do not fit their schema wait here. Settings
              changes the mode.
            </EmptyState>
          }
        />
      </Card>
      <Modal as="sheet" open={open !== undefined} onClose={close} title={open?.eventName ?? ''}>
        {open && (
          <div className="flex flex-col gap-4">
            {open.errors.map(({ field, message }) => (
              <Notice key={field + message} tone="warning">
                {field}: {message}
              </Notice>
            ))}
            <Json label="Event" value={open.event} />
            <ReplayButton busy={replay.isPending} onReplay={() => replay.mutate(open.id)} />
          </div>
        )}
      </Modal>
    </>
  )
}

const reasonOf = ({ errors }: RejectedEvent): string => errors.map(({ message }) => message).join('; ')
