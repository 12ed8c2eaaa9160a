import { type Database, NOW } from '@waymark/database'

type Pool = Database['pool']

const ADDRESS_NOTICES = `
  UPDATE webhook.webhooks w SET notice_recipient = found.email,
    notice_due_at = CASE WHEN found.email IS NOT NULL THEN w.notice_due_at END
  FROM (
    SELECT due.id, (
      SELECT u.email FROM core.project_members m JOIN core.users u ON u.id = m.user_id
      WHERE m.project_id = due.project_id AND (m.user_id = due.owner_id OR m.role = 'owner')
      ORDER BY (m.user_id = due.owner_id) DESC NULLS LAST, m.user_id LIMIT 1) AS email
    FROM webhook.webhooks due WHERE due.notice_due_at IS NOT NULL AND due.deleted_at IS NULL AND due.notice_recipient IS NULL
    ORDER BY due.notice_due_at LIMIT 100
  ) AS found
  WHERE w.id = found.id AND w.notice_recipient IS NULL`

const REDELIVER = `
  UPDATE webhook.deliveries SET status = 'pending', attempts = 0, queued_at = now(), next_attempt_at = now(),
  attempt_token = NULL,  response_status = NULL, response_body = NULL, error = NULL, duration_ms = NULL, delivered_at = NULL
  WHERE id = $1 AND webhook_id = $2 AND (attempt_token IS NULL OR next_attempt_at <= ${NOW})`
// Deliveries that are created later would be sent twice. Every id is greater than the first one here. The replay begins
// after a moment in which it can be canceled.
const START_REPLAY = `
  INSERT INTO webhook.replays
    (webhook_id, from_time, to_time, delivery_status, state, reached_time, reached_id, portion_at)
  VALUES ($1, $2, least($3, now()), $4, 'running', $2, '00000000-0000-0000-0000-000000000000', now() + interval '2 s')
  ON CONFLICT (webhook_id) DO UPDATE SET from_time = excluded.from_time, to_time = excluded.to_time,
    delivery_status = excluded.delivery_status, state = excluded.state, queued = 0,
    reached_time = excluded.reached_time, reached_id = excluded.reached_id, portion_at = excluded.portion_at, created_at = now(),
    finished_at = NULL
  WHERE replays.state <> 'running'`

/**
 * Fills in the recipients of up to 100 notices that a webhook was paused or that its creator left the project: the creator,
 * or an owner of the project after the creator has left it.
 */
export const addressNotices = async (pool: Pool): Promise<void> => {
  await pool.query(ADDRESS_NOTICES)
}

/** Queues a delivery of a webhook again, unless an attempt is in flight. */
export const queueAgain = async (pool: Pool, deliveryId: string, webhookId: string): Promise<void> => {
  await pool.query(REDELIVER, [deliveryId, webhookId])
}

/**
 * Starts a replay of a webhook's deliveries of a time range, all or those with a status.
 * @returns false when a replay of the webhook is running
 */
export const startReplay = async (
  pool: Pool,
  webhookId: string,
  { from, to, status }: { from: Date; to: Date; status: string | null },
): Promise<boolean> => {
  const { rowCount } = await pool.query(START_REPLAY, [webhookId, from, to, status])
  return rowCount !== 0
}
