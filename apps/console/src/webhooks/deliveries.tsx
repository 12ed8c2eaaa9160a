import type { ReactNode } from 'react'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import type { WebhookDelivery } from '../api/types.ts'
import { useUrlDialog, useUrlState } from '../api/url-state.ts'
import { Button } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { statusColumn } from '../ui/columns.tsx'
import { Modal } from '../ui/dialog.tsx'
import { Select } from '../ui/form.tsx'
import { formatNumber, Time } from '../ui/format.tsx'
import { EmptyState } from '../ui/states.tsx'
import { DataTable, NarrowLine, rowLinkClass, wrappedClass } from '../ui/table.tsx'
import { DeliveryDrawer } from './delivery-drawer.tsx'
import { ReplayForm } from './replay-form.tsx'
import { ReplayProgress } from './replay-progress.tsx'
import { TOPICS } from './topics.ts'

const STATUSES = ['pending', 'delivered', 'failed'] as const
const DELIVERED_TOPICS = [...TOPICS.map(([topic]) => topic), 'test'] as const

/** The deliveries of a webhook, which can be sent again while it is active. */
export const Deliveries = ({
  webhookId,
  isActive,
  sendTest,
}: {
  webhookId: string
  isActive: boolean
  /** The button that sends a test. */
  sendTest: ReactNode
}) => {
  const projectId = useProjectId()
  const [search, setSearch] = useUrlState<'status' | 'topic' | 'delivery'>()
  const [dialog, openDialog, closeDialog] = useUrlDialog<'replay'>('editor')
  const status = STATUSES.find((one) => one === search.status)
  const topic = DELIVERED_TOPICS.find((one) => one === search.topic)
  const list = useList<WebhookDelivery>(
    [projectId, 'webhook-deliveries', webhookId, status, topic],
    (cursor) =>
      unwrap(
        api.GET('/api/projects/{projectId}/webhooks/{id}/deliveries', {
          params: {
            path: { projectId, id: webhookId },
            query: { limit: 50, ...(status && { status }), ...(topic && { topic }), ...cursor },
          },
        }),
      ),
    { refetchInterval: 5_000 },
  )
  const open = ({ id }: WebhookDelivery) => setSearch({ delivery: id })
  const close = () => setSearch({ delivery: '' }, { replace: true })
  const redeliver = useChange(
    (deliveryId: string) =>
      unwrap(
        api.POST('/api/projects/{projectId}/webhooks/{id}/deliveries/{deliveryId}/redeliver', {
          params: { path: { projectId, id: webhookId, deliveryId } },
        }),
      ),
    { done: 'It is sent again', onDone: close },
  )
  return (
    <Card
      title="Deliveries"
      actions={
        <Button small icon="refresh" disabled={!isActive} onClick={() => openDialog('replay')}>
          Replay a time range
        </Button>
      }
    >
      <ReplayProgress webhookId={webhookId} />
      <search className="grid gap-3 border-b border-line px-4 pb-4 sm:grid-cols-2">
        <Select
          label="Status"
          value={status ?? ''}
          onChange={(event) => setSearch({ status: event.target.value })}
          options={[['', 'Any'], ...STATUSES.map((one) => [one, one] as const)]}
        />
        <Select
          label="Topic"
          value={topic ?? ''}
          onChange={(event) => setSearch({ topic: event.target.value })}
          options={[['', 'Any'], ...DELIVERED_TOPICS.map((one) => [one, one] as const)]}
        />
      </search>
      <DataTable
        label="Deliveries"
        list={list}
        keyOf={({ id }) => id}
        onOpen={open}
        columns={[
          {
            title: 'Message',
            sort: (row) => row.topic,
            cell: (row) => (
              <span className={wrappedClass}>
                <button type="button" className={rowLinkClass} onClick={() => open(row)}>
                  {row.topic}
                </button>
                <NarrowLine>
                  {row.responseStatus ?? row.error ?? 'no response'}, <Time at={row.createdAt} as="ago" />
                </NarrowLine>
              </span>
            ),
          },
          statusColumn,
          {
            title: 'Response',
            wide: true,
            cell: ({ responseStatus, error }) =>
              responseStatus ?? <span className="block max-w-48 truncate text-muted">{error ?? '–'}</span>,
            sort: ({ responseStatus }) => responseStatus,
          },
          {
            title: 'Attempts',
            align: 'right',
            wide: true,
            cell: ({ attempts }) => formatNumber(attempts),
            sort: ({ attempts }) => attempts,
          },
          {
            title: 'When',
            align: 'right',
            wide: true,
            cell: ({ createdAt }) => <Time at={createdAt} as="ago" />,
            sort: ({ createdAt }) => createdAt,
          },
        ]}
        empty={
          status || topic ? (
            <EmptyState icon="external" title="Nothing fits" />
          ) : (
            <EmptyState icon="external" title="No deliveries yet" action={sendTest}>
              Messages appear here as they happen. Send a test to see what the endpoint answers.
            </EmptyState>
          )
        }
      />
      <DeliveryDrawer
        delivery={list.rows.find(({ id }) => id === search.delivery)}
        onClose={close}
        mayRedeliver={isActive}
        redelivering={redeliver.isPending}
        onRedeliver={(id) => redeliver.mutate(id)}
      />
      <Modal
        open={dialog === 'replay'}
        onClose={closeDialog}
        title="Replay a time range"
        description="Deliveries of the range are sent again, each with the webhook-id that it had."
      >
        <ReplayForm webhookId={webhookId} onClose={closeDialog} />
      </Modal>
    </Card>
  )
}
