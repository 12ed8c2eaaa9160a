import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import type { DeadLetter } from '../api/types.ts'
import { useUrlRow } from '../api/url-state.ts'
import { Card, Facts } from '../ui/card.tsx'
import { CodeBlock } from '../ui/code.tsx'
import { Modal } from '../ui/dialog.tsx'
import { Time } from '../ui/format.tsx'
import { EmptyState } from '../ui/states.tsx'
import { DataTable, rowLinkClass, truncatedClass } from '../ui/table.tsx'
import { CatalogHeader } from './header.tsx'
import { ReplayAllButton, ReplayButton, replayedColumn } from './replay.tsx'

/** Records that a consumer could not process. */
export const DeadLetters = () => {
  const projectId = useProjectId()
  const list = useList<DeadLetter>([projectId, 'dead-letters'], (cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/dead-letters', {
        params: { path: { projectId }, query: { limit: 50, ...cursor } },
      }),
    ),
  )
  const [open, setOpen, close] = useUrlRow(list.rows, ({ id }) => id)
  const replay = useChange(
    (id: string) =>
      unwrap(
        api.POST('/api/projects/{projectId}/dead-letters/{id}/replay', {
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
                api.POST('/api/projects/{projectId}/dead-letters/replay', {
                  params: { path: { projectId } },
                  body: after,
                }),
              )
            }
          />
        }
      />
      <Card>
        <DataTable
          label="Dead letters"
          list={list}
          keyOf={({ id }) => id}
          onOpen={setOpen}
          columns={[
            {
              title: 'Consumer',
              sort: ({ group }) => group,
              cell: (row) => (
                <button type="button" className={rowLinkClass} onClick={() => setOpen(row)}>
                  {row.group}
                </button>
              ),
            },
            {
              title: 'Why',
              cell: ({ reason }) => <span className={`${truncatedClass} text-muted`}>{reason}</span>,
            },
            replayedColumn,
            {
              title: 'Failed',
              align: 'right',
              cell: ({ failedAt }) => <Time at={failedAt} as="ago" />,
              sort: ({ failedAt }) => failedAt,
            },
          ]}
          empty={
            <EmptyState icon="check" title="No dead letters">
              Records that a consumer cannot process wait here until they are sent again.
            </EmptyState>
          }
        />
      </Card>
      <Modal
        as="sheet"
        open={open !== undefined}
        onClose={close}
        title={open?.group ?? ''}
        description={open?.reason}
      >
        {open && (
          <div className="flex flex-col gap-4">
            <Facts
              rows={[
                ['Topic', `${open.topic}, partition ${open.partition}, offset ${open.offset}`],
                ['Key', open.key],
                ['Failed', <Time key="f" at={open.failedAt} />],
              ]}
            />
            <CodeBlock label="Record" text={open.value} />
            <ReplayButton busy={replay.isPending} onReplay={() => replay.mutate(open.id)} />
          </div>
        )}
      </Modal>
    </>
  )
}
