import { MAX_REPLAYED_DELIVERIES } from '@waymark/contracts/webhook'
import { type Database, NOW } from '@waymark/database'

/** Deliveries that are examined at once, and may wait before more are queued. */
const PORTION = 1_000

type Running = { webhookId: string }

// A replay continues while few deliveries wait, so that new messages do not wait behind all of it. The order has the planner
// use an index, where it would otherwise read all deliveries to find that few wait.
const LOCK_REPLAY = `
  SELECT r.webhook_id AS "webhookId" FROM webhook.replays r
  JOIN webhook.webhooks w ON w.id = r.webhook_id AND w.status = 'active'
  WHERE r.state = 'running' AND r.portion_at <= ${NOW} AND $1 > (
    SELECT count(*) FROM (
      SELECT FROM webhook.deliveries WHERE webhook_id = r.webhook_id AND status = 'pending'
      ORDER BY next_attempt_at LIMIT $1) AS waiting)
  ORDER BY r.portion_at LIMIT 1
  FOR UPDATE OF r SKIP LOCKED`

// Deliveries that are pending already, or are being attempted, stay as they are. They are found by an array of ids, because a
// join with a portion of unknown size would read all deliveries.
const QUEUE_PORTION = `
  WITH replay AS (
    SELECT *, least($2, $3 - queued) AS portion FROM webhook.replays WHERE webhook_id = $1
  ), examined AS (
    SELECT d.id, d.created_at FROM replay r CROSS JOIN LATERAL (
      SELECT id, created_at FROM webhook.deliveries
      WHERE webhook_id = $1 AND (created_at, id) > (r.reached_time, r.reached_id) AND created_at < r.to_time
      ORDER BY created_at, id LIMIT r.portion) AS d
  ), queued AS (
    UPDATE webhook.deliveries d SET status = 'pending', attempts = 0, queued_at = now(), next_attempt_at = now(),
      attempt_token = NULL, response_status = NULL, response_body = NULL, error = NULL, duration_ms = NULL,
      delivered_at = NULL
    FROM replay r
    WHERE d.id = ANY(ARRAY(SELECT id FROM examined)) AND NOT d.test AND d.status <> 'pending'
      AND (r.delivery_status IS NULL OR d.status = r.delivery_status)
    RETURNING d.id
  ), last AS (
    SELECT id, created_at FROM examined ORDER BY created_at DESC, id DESC LIMIT 1
  ), counts AS (
    SELECT (SELECT count(*)::int FROM examined) AS examined, (SELECT count(*)::int FROM queued) AS queued
  ), next AS (
    SELECT counts.*, CASE
      WHEN (
        SELECT d.id FROM last CROSS JOIN LATERAL (
          SELECT id FROM webhook.deliveries
          WHERE webhook_id = $1 AND (created_at, id) > (last.created_at, last.id) AND created_at < r.to_time
          ORDER BY created_at, id LIMIT 1) AS d) IS NULL
      THEN 'finished' WHEN r.queued + counts.queued >= $3 THEN 'limited' ELSE 'running' END AS state
    FROM counts, replay r
  )
  UPDATE webhook.replays r SET queued = r.queued + next.queued, state = next.state, portion_at = clock_timestamp(),
    finished_at = CASE WHEN next.state <> 'running' THEN now() END,
    reached_time = CASE WHEN next.state = 'finished' THEN r.to_time ELSE coalesce(last.created_at, r.reached_time) END,
    reached_id = coalesce(last.id, r.reached_id)
  FROM next LEFT JOIN last ON true
  WHERE r.webhook_id = $1
  RETURNING next.examined`

type Options = {
  db: Pick<Database, 'transaction'>
  /** Deliveries that one replay sends again at most. */
  maxDeliveries?: number
}

/**
 * Creates a function that queues the next portion of one replay and resolves to how many deliveries it examined. It
 * resolves to 0 when no replay can continue.
 */
export const createReplayDeliveries =
  ({ db, maxDeliveries = MAX_REPLAYED_DELIVERIES }: Options) =>
  (): Promise<number> =>
    db.transaction(async (client) => {
      const { rows } = await client.query<Running>({
        name: 'lock-webhook-replay',
        text: LOCK_REPLAY,
        values: [PORTION],
      })
      const [replay] = rows
      if (!replay) return 0
      const portion = await client.query<{ examined: number }>({
        name: 'queue-webhook-replay',
        text: QUEUE_PORTION,
        values: [replay.webhookId, PORTION, maxDeliveries],
      })
      return portion.rows[0]?.examined ?? 0
    })
