import type { Database } from '@waymark/database'
import { WorkBudget } from '@waymark/domain/logic'
import { type CompiledWebhook, isFor, type WebhookMessage } from '@waymark/domain/webhook'
import type { Delivery } from '@waymark/event-bus'
import { aboutAnything, withoutErased } from '@waymark/pipeline'
import { LoopTurns } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { insertDeliveries, type NewDelivery } from './new-delivery-queries.ts'
import type { ReadWebhooks } from './read-webhooks.ts'

type Deps = {
  db: Pick<Database, 'transaction'>
  readWebhooks: ReadWebhooks
  onStored?: (count: number) => void
}

/** A delivery to store, and its record. */
type ChosenDelivery = NewDelivery & { record: object }

/**
 * Creates handlers that store the deliveries of records, each once per webhook and message. A repeated batch changes
 * nothing. Records of erased people are not stored.
 */
export const createStoreDeliveries = ({ db, readWebhooks, onStored = () => {} }: Deps) => {
  const choose = async <T extends object>(
    records: readonly { record: T; messages: readonly WebhookMessage[] }[],
  ): Promise<ChosenDelivery[]> => {
    const projects = records.flatMap(({ messages }) => messages.map(({ projectId }) => projectId))
    const webhooks = await readWebhooks([...new Set(projects)])
    if (webhooks.size === 0) return []
    const turns = new LoopTurns()
    const chosen: ChosenDelivery[] = []
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
        return insertDeliveries(client, kept)
      })
      onStored(stored)
    }
}
