import { bulkColumns } from '@waymark/database'
import type { WebhookMessage } from '@waymark/domain/webhook'
import type { ClientBase } from 'pg'

/** A message to deliver to a webhook. */
export type NewDelivery = { id: string; webhookId: string; message: WebhookMessage }

/** The body of the request. */
const payloadOf = ({ type, timestamp, projectId, data }: WebhookMessage): string =>
  JSON.stringify({ type, timestamp, projectId, data })

const columns = bulkColumns<NewDelivery>([
  { name: 'id', type: 'uuid', of: ({ id }) => id },
  { name: 'project_id', type: 'uuid', of: ({ message }) => message.projectId },
  { name: 'webhook_id', type: 'uuid', of: ({ webhookId }) => webhookId },
  { name: 'topic', type: 'text', of: ({ message }) => message.topic },
  { name: 'message_key', type: 'uuid', of: ({ message }) => message.key },
  { name: 'profile_id', type: 'uuid', of: ({ message }) => message.profileId },
  { name: 'ordering_key', type: 'uuid', of: ({ message }) => message.orderingKey },
  { name: 'payload', type: 'text', of: ({ message }) => payloadOf(message) },
  { name: 'received_at', type: 'timestamptz', of: ({ message }) => message.receivedAt },
])
const STORED = 'id, project_id, webhook_id, topic, message_key, profile_id, ordering_key, payload'

// Joins the webhook's row, so that a webhook that has just been paused or deleted gets nothing.
const INSERT = `
  INSERT INTO webhook.deliveries (${STORED}, status, next_attempt_at)
  SELECT ${STORED.replaceAll(/\w+/g, 'given.$&')}, 'pending', now()
  FROM ${columns.unnest} AS given (${columns.names})
  JOIN webhook.webhooks w ON w.id = given.webhook_id AND w.status = 'active' AND w.activated_at <= given.received_at
  ORDER BY given.webhook_id, given.topic, given.message_key
  ON CONFLICT (webhook_id, topic, message_key) DO NOTHING`

/** Stores deliveries, each once per webhook and message. Resolves to how many are new. */
export const insertDeliveries = async (
  client: ClientBase,
  deliveries: readonly NewDelivery[],
): Promise<number> => {
  if (deliveries.length === 0) return 0
  const { rowCount } = await client.query({
    name: 'store-webhook-deliveries',
    text: INSERT,
    values: columns.values(deliveries),
  })
  return rowCount ?? 0
}
