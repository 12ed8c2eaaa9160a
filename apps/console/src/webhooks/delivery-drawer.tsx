import type { WebhookDelivery } from '../api/types.ts'
import { Status } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Facts } from '../ui/card.tsx'
import { CodeBlock, Json } from '../ui/code.tsx'
import { Modal } from '../ui/dialog.tsx'
import { formatDuration } from '../ui/duration.ts'
import { formatNumber, Time } from '../ui/format.tsx'

/** What was sent and answered, in a drawer. */
export const DeliveryDrawer = ({
  delivery,
  onClose,
  mayRedeliver,
  redelivering,
  onRedeliver,
}: {
  delivery: WebhookDelivery | undefined
  onClose: () => void
  /** Whether the webhook is active. */
  mayRedeliver: boolean
  redelivering: boolean
  onRedeliver: (id: string) => void
}) => (
  <Modal
    as="sheet"
    open={delivery !== undefined}
    onClose={onClose}
    title={delivery?.topic ?? ''}
    description={delivery?.id}
  >
    {delivery && (
      <div className="flex flex-col gap-5">
        <Facts
          rows={[
            ['Status', <Status key="s" status={delivery.status} />],
            ['Response status', delivery.responseStatus],
            ['Error', delivery.error],
            ['Duration', delivery.durationMs === null ? null : formatDuration(delivery.durationMs / 1_000)],
            ['Attempts', formatNumber(delivery.attempts)],
            ['Created', <Time key="c" at={delivery.createdAt} />],
            ['Next attempt', <Time key="n" at={delivery.nextAttemptAt} />],
            ['Delivered', <Time key="d" at={delivery.deliveredAt} />],
          ]}
        />
        <section>
          <h3 className="mb-2 font-semibold">Response</h3>
          {delivery.responseBody ? (
            <CodeBlock label="Response" text={delivery.responseBody} />
          ) : (
            <p className="text-muted">{delivery.responseStatus === null ? 'None.' : 'It had no body.'}</p>
          )}
        </section>
        <section>
          <h3 className="mb-2 font-semibold">Request</h3>
          <Json label="Request" value={delivery.payload} />
        </section>
        <div>
          <Button
            icon="refresh"
            look="primary"
            disabled={!mayRedeliver}
            busy={redelivering}
            onClick={() => onRedeliver(delivery.id)}
          >
            Redeliver
          </Button>
          {!mayRedeliver && <p className="mt-2 text-muted">Activate the webhook to send it again.</p>}
        </div>
      </div>
    )}
  </Modal>
)
