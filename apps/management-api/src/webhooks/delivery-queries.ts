import { webhookDeliveryStatuses, webhookTopics } from '@waymark/contracts/webhook'
import type { Database } from '@waymark/database'
import { NIL } from 'uuid'

/** All topics of deliveries. */
const TOPICS = [...webhookTopics, 'test']
/** An id above all ids that are generated. */
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

// For each topic and status apart, because an index of both is in the order of ids only within one of each. As a range in
// the order of that index, because the planner may otherwise walk the ids of all webhooks.
const LIST = `
  SELECT found.id FROM unnest($2::text[]) AS topics (topic) CROSS JOIN unnest($3::text[]) AS statuses (status)
  CROSS JOIN LATERAL (
    SELECT id FROM webhook.deliveries d
    WHERE (d.webhook_id, d.topic, d.status, d.id) > ($1, topics.topic, statuses.status, $6::uuid)
      AND (d.webhook_id, d.topic, d.status, d.id) < ($1, topics.topic, statuses.status, $4::uuid)
    ORDER BY d.webhook_id DESC, d.topic DESC, d.status DESC, d.id DESC LIMIT $5) AS found
  ORDER BY found.id DESC LIMIT $5`

type DeliveryFilter = {
  webhookId: string
  topic: string | undefined
  /** Whether deliveries of the topic `audit` are among them. */
  withAudit: boolean
  status: string | undefined
  before: string | undefined
  take: number
}

/** The statement for the ids of deliveries, newest first, which reads about as many rows as it finds. */
export const listOfDeliveries = ({
  webhookId,
  topic,
  withAudit,
  status,
  before = LAST_ID,
  take,
}: DeliveryFilter) => {
  const topics = (topic === undefined ? TOPICS : [topic]).filter((one) => withAudit || one !== 'audit')
  const statuses = status === undefined ? webhookDeliveryStatuses : [status]
  return { text: LIST, values: [webhookId, topics, statuses, before, take, NIL] }
}

/** Deliveries of a webhook, newest first. */
export const readDeliveries = async ({ pool, prisma }: Database, filter: DeliveryFilter) => {
  const { rows } = await pool.query<{ id: string }>(listOfDeliveries(filter))
  return prisma.webhookDelivery.findMany({
    where: { id: { in: rows.map(({ id }) => id) } },
    orderBy: { id: 'desc' },
  })
}
