import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import { Form, fromLocalInput, Input, LOCAL_TIME_HINT, Select, toLocalInput } from '../ui/form.tsx'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const STATUSES = ['failed', 'delivered'] as const

/** Sends the deliveries of a time range again. */
export const ReplayForm = ({ webhookId, onClose }: { webhookId: string; onClose: () => void }) => {
  const projectId = useProjectId()
  const replay = useChange(
    ({ from, to, status }: Record<string, string>) => {
      const only = STATUSES.find((one) => one === status)
      return unwrap(
        api.POST('/api/projects/{projectId}/webhooks/{id}/replay', {
          params: { path: { projectId, id: webhookId } },
          body: {
            from: fromLocalInput(from) ?? '',
            to: fromLocalInput(to) ?? '',
            ...(only && { status: only }),
          },
        }),
      )
    },
    { done: 'The replay begins; its progress is shown above the deliveries', quiet: true, onDone: onClose },
  )
  const now = Date.now()
  return (
    <Form
      submit="Replay"
      busy={replay.isPending}
      error={replay.error}
      names={['from', 'to']}
      onCancel={onClose}
      onSubmit={(values) => replay.mutate(values)}
    >
      <Input
        label="From"
        name="from"
        type="datetime-local"
        required
        hint={LOCAL_TIME_HINT}
        defaultValue={toLocalInput(new Date(now - DAY_MS).toISOString())}
      />
      <Input
        label="To"
        name="to"
        type="datetime-local"
        required
        // The field has whole minutes: the next one includes what was delivered in this one.
        defaultValue={toLocalInput(new Date(now + MINUTE_MS).toISOString())}
      />
      <Select
        label="Deliveries"
        name="status"
        defaultValue="failed"
        options={[
          ['failed', 'Failed ones'],
          ['delivered', 'Delivered ones'],
          ['', 'Both'],
        ]}
      />
    </Form>
  )
}
