import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useMay, useProjectId } from '../api/session.ts'
import type { Decision, ScheduledChange } from '../api/types.ts'
import { useUrlDialog } from '../api/url-state.ts'
import { ActorName } from '../ui/actor.tsx'
import { Status } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { Json } from '../ui/code.tsx'
import { ConfirmButton, Modal } from '../ui/dialog.tsx'
import { Time } from '../ui/format.tsx'
import { EmptyState } from '../ui/states.tsx'
import { DataTable, NarrowLine } from '../ui/table.tsx'
import { ScheduleForm } from './schedule-form.tsx'
import { changeLines } from './scheduled-change.ts'

/** The changes of a decision that are made at a set time. */
export const Schedule = ({ decision, environment }: { decision: Decision; environment: string }) => {
  const { key: decisionKey } = decision
  const projectId = useProjectId()
  const mayEdit = useMay('editor')
  const mayChange = mayEdit && decision.status !== 'archived'
  const path = { projectId, key: decisionKey }
  const [open, setOpen, close] = useUrlDialog<'schedule'>('editor')
  const list = useList<ScheduledChange>([projectId, 'scheduled-changes', decisionKey], (cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/decisions/{key}/scheduled-changes', {
        params: { path, query: { limit: 25, ...cursor } },
      }),
    ),
  )
  const cancel = useChange(
    (id: string) =>
      unwrap(
        api.DELETE('/api/projects/{projectId}/decisions/{key}/scheduled-changes/{id}', {
          params: { path: { ...path, id } },
        }),
      ),
    { quiet: true, done: 'Change cancelled' },
  )
  const create = mayChange && (
    <Button icon="plus" onClick={() => setOpen('schedule')}>
      Schedule a change
    </Button>
  )
  return (
    <Card title="Scheduled changes" description="They are made at their time, once." actions={create}>
      <DataTable
        label="Scheduled changes"
        list={list}
        keyOf={({ id }) => id}
        columns={[
          {
            title: 'Change',
            cell: ({ at, change, status, error }) => (
              <div className="min-w-24 wrap-anywhere">
                <NarrowLine>
                  <span className="[&_time]:whitespace-normal">
                    <Time at={at} /> <Status status={status} />
                  </span>
                </NarrowLine>
                <ul>
                  {changeLines(change).map((line) => (
                    <li key={line}>{line}</li>
                  ))}
                </ul>
                {error && <span className="block text-danger">{error}</span>}
                <details>
                  <summary className="cursor-pointer rounded text-muted hover:text-text">as JSON</summary>
                  <Json label="The change as JSON" value={change} />
                </details>
              </div>
            ),
          },
          { title: 'At', wide: true, cell: ({ at }) => <Time at={at} /> },
          {
            title: 'By',
            wide: true,
            cell: ({ scheduledBy }) => (
              <span className="wrap-anywhere">
                <ActorName actor={scheduledBy} />
              </span>
            ),
          },
          { title: 'Status', wide: true, cell: ({ status }) => <Status status={status} /> },
          {
            title: 'Actions',
            align: 'right',
            cell: ({ id, status, version }) =>
              status === 'applied' ? (
                `version ${version}`
              ) : status === 'pending' && mayEdit ? (
                <ConfirmButton
                  small
                  label="Cancel change"
                  title="Cancel this change?"
                  confirm="Cancel change"
                  onConfirm={() => cancel.mutateAsync(id)}
                >
                  It is not made at its time.
                </ConfirmButton>
              ) : null,
          },
        ]}
        empty={<EmptyState icon="decisions" title="No scheduled changes" />}
      />
      <Modal open={mayChange && open === 'schedule'} onClose={close} title="Schedule a change" wide>
        <ScheduleForm decision={decision} environment={environment} onDone={close} />
      </Modal>
    </Card>
  )
}
