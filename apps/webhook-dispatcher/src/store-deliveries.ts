import { bulkColumns, type Database } from '@waymark/database'
import { type CompiledWebhook, isFor, type WebhookMessage, WorkBudget } from '@waymark/domain'
import type { Delivery } from '@waymark/event-bus'
import { aboutAnything, withoutErased } from '@waymark/pipeline'
import { LoopTurns } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import type { ReadWebhooks } from './read-webhooks.ts'

type Deps = {
  db: Pick<Database, 'transaction'>
  readWebhooks: ReadWebhooks
  onStored?: (count: number) => void
}
type NewDelivery = { id: string; webhookId: string; message: WebhookMessage; record: object }

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

/**
 * Creates handlers that store the deliveries of records, each once per webhook and message. A repeated batch changes
 * nothing. Records of erased people are not stored.
 */
export const createStoreDeliveries = ({ db, readWebhooks, onStored = () => {} }: Deps) => {
  const choose = async <T extends object>(
    records: readonly { record: T; messages: readonly WebhookMessage[] }[],
  ): Promise<NewDelivery[]> => {
    const projects = records.flatMap(({ messages }) => messages.map(({ projectId }) => projectId))
    const webhooks = await readWebhooks([...new Set(projects)])
    if (webhooks.size === 0) return []
    const turns = new LoopTurns()
    const chosen: NewDelivery[] = []
    for (const { record, messages } of records) {
      const budget = new WorkBudget()
      for (const message of messages) {
        const candidates: readonly CompiledWebhook[] = webhooks.get(message.projectId) ?? []
        for (const candidate of candidates)
          if (isFor(message, candidate, budget))
            chosen.push({ id: uuidv7(), webhookId: candidate.webhook.id, message, record })
      }
      if (turns.isOver()) await turns.next()
    }
    return chosen
  }

  /** A handler of records that become the messages that `messagesOf` returns. */
  return <T extends object>(messagesOf: (record: T) => readonly WebhookMessage[]) =>
    async (batch: readonly Delivery<T>[]): Promise<undefined> => {
      const deliveries = await choose(
        batch.map(({ value }) => ({ record: value, messages: messagesOf(value) })),
      )
      if (deliveries.length === 0) return
      const stored = await db.transaction(async (client) => {
        const { kept } = await withoutErased(
          client,
          deliveries,
          ({ record, message: { projectId, receivedAt } }) =>
            aboutAnything(record) ?? { projectId, receivedAt, people: [] },
        )
        if (kept.length === 0) return 0
        const { rowCount } = await client.query({
          name: 'store-webhook-deliveries',
          text: INSERT,
          values: columns.values(kept),
        })
        return rowCount ?? 0
      })
      onStored(stored)
    }
}

/** The body of the request. */
const payloadOf = ({ type, timestamp, projectId, data }: WebhookMessage): string =>
  JSON.stringify({ type, timestamp, projectId, data })
