import { type Database, NOW } from '@waymark/database'

/** A delivery that this process may attempt until its lease ends. */
export type ClaimedDelivery = {
  id: string
  token: string
  webhookId: string
  orderingKey: string | null
  topic: string
  payload: string
  test: boolean
  attempts: number
  queuedAt: Date
  url: string
  /** Sign the message: the secret, and the previous one while it is valid. */
  secrets: string[]
  /** Of the webhook when the delivery was claimed. */
  webhookVersion: number
}

/** How an attempt ended. */
export type Settlement = {
  status: 'pending' | 'delivered' | 'failed'
  /** Delay of the next attempt of a pending delivery, in ms. */
  retryInMs?: number
  responseStatus: number | null
  responseBody: string | null
  error: string | null
  durationMs: number
  /** The endpoint answered that it is gone. */
  gone: boolean
  /** How long the endpoint asked not to be called, in ms; 0 if it did not. */
  waitMs: number
}

export type QueueOptions = {
  db: Pick<Database, 'pool' | 'transaction'>
  /** Deliveries to one webhook at once. */
  connectionsPerEndpoint: number
  /** How long a claimed delivery is reserved for its process, in ms. */
  leaseMs: number
  /** The first pause of a failing endpoint, in ms. It doubles with each failed attempt, up to `longestBlockMs`. */
  firstBlockMs: number
  longestBlockMs: number
  /** A webhook is paused when it has failed for this long, in ms. */
  pauseAfterMs: number
}

/** Failed attempts in a row after which an endpoint gets one attempt at a time, and pauses between them. */
export const FAILURES_UNTIL_BLOCKED = 5
/** Webhooks of one claim. */
const WEBHOOKS = 100
/** Due deliveries of a webhook that are examined for people whose deliveries are in flight. */
const EXAMINED = 200

const IS_READY = `(w.retry_after IS NULL OR w.retry_after <= ${NOW})`
const IS_OPEN = `(w.status = 'active' AND (w.blocked_until IS NULL OR w.blocked_until <= ${NOW}) AND ${IS_READY})`

// The lock serializes the claims of a webhook. The next statement sees what the previous holder has claimed. EXISTS could be
// answered by a hash of all waiting deliveries, which takes a tenth of a second for 100,000.
const LOCK_WEBHOOKS = `
  SELECT w.id, w.url, w.version, ${IS_OPEN} AS open, w.failures >= ${FAILURES_UNTIL_BLOCKED} AS failing,
    CASE WHEN w.previous_secret_expires_at > now() THEN ARRAY[w.secret, w.previous_secret] ELSE ARRAY[w.secret] END AS secrets,
    w.project_id AS "projectId", coalesce(of_project.deliveries, 0) AS "ofProject", $3 - coalesce(busy.deliveries, 0) AS free
  FROM webhook.webhooks w
  JOIN core.projects p ON p.id = w.project_id AND p.archived_at IS NULL AND w.deleted_at IS NULL
  LEFT JOIN unnest($1::uuid[], $2::int[]) AS busy (id, deliveries) ON busy.id = w.id
  LEFT JOIN (
    SELECT project_id, sum(deliveries)::int AS deliveries FROM webhook.webhooks
    JOIN unnest($1::uuid[], $2::int[]) AS given (id, deliveries) USING (id) GROUP BY project_id
  ) AS of_project ON of_project.project_id = w.project_id
  WHERE coalesce(busy.deliveries, 0) < $3 AND coalesce(of_project.deliveries, 0) < $4 AND (
    (${IS_OPEN} AND (
      SELECT min(d.next_attempt_at) FROM webhook.deliveries d WHERE d.webhook_id = w.id AND d.status = 'pending') <= ${NOW})
    OR (
      SELECT min(d.next_attempt_at) FROM webhook.deliveries d
      WHERE d.webhook_id = w.id AND d.status = 'pending' AND d.test) <= ${NOW})
  ORDER BY random() LIMIT ${WEBHOOKS}
  FOR NO KEY UPDATE OF w SKIP LOCKED`

// Those whose lease has ended go back to their place in the queue, before later deliveries to the same person.
const RESTORE = `
  UPDATE webhook.deliveries SET attempt_token = NULL, next_attempt_at = least(queued_at, now())
  WHERE webhook_id = ANY($1::uuid[]) AND attempt_token IS NOT NULL AND next_attempt_at <= ${NOW}`

// Materialized and as an array, because a plan for few rows may otherwise pick again for each row, or read all rows.
const CLAIM = `
  WITH picked AS MATERIALIZED (
    SELECT due.id FROM unnest($1::uuid[], $2::int[], $3::boolean[]) AS w (id, free, open)
    CROSS JOIN LATERAL (
      SELECT d.id FROM (
        SELECT id, webhook_id, ordering_key, next_attempt_at FROM webhook.deliveries
        WHERE webhook_id = w.id AND status = 'pending' AND next_attempt_at <= ${NOW} AND w.open
        ORDER BY next_attempt_at, id LIMIT ${EXAMINED}
      ) AS d
      WHERE NOT EXISTS (
        SELECT FROM webhook.deliveries other
        WHERE other.webhook_id = d.webhook_id AND other.ordering_key = d.ordering_key
          AND other.attempt_token IS NOT NULL AND other.next_attempt_at > ${NOW})
      ORDER BY d.next_attempt_at, d.id LIMIT w.free
    ) AS due
    UNION ALL
    SELECT tests.id FROM unnest($1::uuid[], $2::int[], $3::boolean[]) AS w (id, free, open)
    CROSS JOIN LATERAL (
      SELECT id FROM webhook.deliveries
      WHERE webhook_id = w.id AND status = 'pending' AND test AND next_attempt_at <= ${NOW} AND NOT w.open
      ORDER BY next_attempt_at LIMIT w.free
    ) AS tests
  )
  UPDATE webhook.deliveries d SET attempt_token = gen_random_uuid(), next_attempt_at = now() + $4 * interval '1 ms'
  WHERE d.id = ANY(ARRAY(SELECT id FROM picked))
  RETURNING d.id, d.attempt_token AS token, d.webhook_id AS "webhookId", d.ordering_key AS "orderingKey", d.topic, d.payload,
    d.test, d.attempts, d.queued_at AS "queuedAt"`

// Until the attempt of a failing endpoint is settled, there is no other. The outcome of a test does not count.
const BLOCK = `
  UPDATE webhook.webhooks SET blocked_until = now() + $2 * interval '1 ms' WHERE id = ANY($1::uuid[])`

// The last attempt of a delivery is up to an hour earlier, and there may be no other delivery.
const HAS_FAILED = `(w.failing_since <= ${NOW} - $12 * interval '1 ms'
  OR $3 = 'failed' AND w.failing_since <= settled.queued_at + interval '1 hour')`
const PAUSES = `(w.status = 'active' AND NOT $11 AND ($10 OR ${HAS_FAILED}))`
const SETTLE = `
  WITH settled AS (
    UPDATE webhook.deliveries SET status = $3, attempts = attempts + 1, attempt_token = NULL,
      next_attempt_at = CASE WHEN $3 = 'pending' THEN now() + $4 * interval '1 ms' END,
      response_status = $5, response_body = $6, error = $7, duration_ms = $8,
      delivered_at = CASE WHEN $3 = 'delivered' THEN now() END
    WHERE id = $1 AND attempt_token = $2
    RETURNING webhook_id, test, queued_at
  )
  UPDATE webhook.webhooks w SET
    failures = CASE WHEN $11 THEN 0 ELSE w.failures + 1 END,
    failing_since = CASE WHEN $11 THEN NULL ELSE coalesce(w.failing_since, now()) END,
    blocked_until = CASE WHEN NOT $11 AND w.failures + 1 >= ${FAILURES_UNTIL_BLOCKED} THEN
      now() + least($14, $13 * 2 ^ least(w.failures + 1 - ${FAILURES_UNTIL_BLOCKED}, 30)) * (1 - $9::float8 / 2) * interval '1 ms' END,
    retry_after = CASE WHEN $15::float8 > 0 THEN greatest(w.retry_after, now() + $15 * interval '1 ms') ELSE w.retry_after END,
    status = CASE WHEN ${PAUSES} THEN 'paused' ELSE w.status END,
    paused_reason = CASE WHEN ${PAUSES} THEN CASE WHEN $10 THEN 'gone' ELSE 'failing' END ELSE w.paused_reason END,
    notice_due_at = CASE WHEN ${PAUSES} THEN now() ELSE w.notice_due_at END,
    notice_recipient = CASE WHEN ${PAUSES} THEN NULL ELSE w.notice_recipient END,
    notice_attempts = CASE WHEN ${PAUSES} THEN 0 ELSE w.notice_attempts END,
    version = w.version + CASE WHEN ${PAUSES} THEN 1 ELSE 0 END
  FROM settled
  WHERE w.id = settled.webhook_id AND NOT settled.test
    AND CASE WHEN $11 THEN w.failures > 0 OR w.blocked_until IS NOT NULL ELSE w.status = 'active' END
  RETURNING CASE WHEN NOT $11 AND w.status = 'paused' THEN w.paused_reason END AS "pausedReason"`

const IS_CURRENT = `
  SELECT FROM webhook.deliveries d
  JOIN webhook.webhooks w ON w.id = d.webhook_id AND w.status = 'active' AND w.version = $3 AND ${IS_READY}
  WHERE d.id = $1 AND d.attempt_token = $2`

const RELEASE = `
  UPDATE webhook.deliveries d SET attempt_token = NULL, next_attempt_at = least(d.queued_at, now())
  FROM unnest($1::uuid[], $2::uuid[]) AS given (id, token)
  WHERE d.id = given.id AND d.attempt_token = given.token`

const OLDEST_DUE = `
  SELECT coalesce(max(extract(epoch FROM now() - due.next_attempt_at)), 0)::float8 AS seconds
  FROM webhook.webhooks w
  JOIN core.projects p ON p.id = w.project_id AND p.archived_at IS NULL
  CROSS JOIN LATERAL (
    SELECT next_attempt_at FROM webhook.deliveries
    WHERE webhook_id = w.id AND status = 'pending' AND next_attempt_at <= ${NOW} ORDER BY next_attempt_at LIMIT 1) AS due
  WHERE w.status = 'active' AND w.failures = 0 AND ${IS_READY}`

// As above: a second choice would lock and delete more than a portion.
const DELETE_OLD = `
  WITH picked AS MATERIALIZED (
    SELECT old.id FROM webhook.webhooks w CROSS JOIN LATERAL (
      SELECT id FROM webhook.deliveries
      WHERE webhook_id = w.id AND created_at < now() - $1 * interval '1 day' ORDER BY created_at LIMIT 1000) AS old
    LIMIT 5000)
  DELETE FROM webhook.deliveries WHERE id = ANY(ARRAY(SELECT id FROM picked))`

// By place, because a plan for few rows may look for each id by reading an index of other columns.
const DELETE_OF_DELETED = `
  WITH picked AS MATERIALIZED (
    SELECT one.place FROM webhook.webhooks w CROSS JOIN LATERAL (
      SELECT ctid AS place FROM webhook.deliveries WHERE webhook_id = w.id LIMIT 5000 FOR UPDATE SKIP LOCKED) AS one
    WHERE w.deleted_at IS NOT NULL LIMIT 5000)
  DELETE FROM webhook.deliveries WHERE ctid = ANY(ARRAY(SELECT place FROM picked))`
const DELETE_EMPTY = `
  DELETE FROM webhook.webhooks w
  WHERE w.deleted_at IS NOT NULL AND NOT EXISTS (SELECT FROM webhook.deliveries WHERE webhook_id = w.id)`

type Locked = {
  id: string
  projectId: string
  url: string
  version: number
  open: boolean
  failing: boolean
  secrets: string[]
  /** Deliveries that this process may still send to the webhook, and those it is sending for the project. */
  free: number
  ofProject: number
}

/**
 * Allots `limit` deliveries to webhooks. A project gets at most as many as are left free, so that projects with slow
 * endpoints never use up what others need.
 */
const allot = (webhooks: readonly Locked[], limit: number): { webhook: Locked; deliveries: number }[] => {
  const ofProjects = new Map(webhooks.map(({ projectId, ofProject }) => [projectId, ofProject]))
  let left = limit
  return webhooks.flatMap((webhook) => {
    const ofProject = ofProjects.get(webhook.projectId) ?? 0
    const allowed = Math.ceil((left - ofProject) / 2)
    const deliveries = Math.min(webhook.failing ? 1 : webhook.free, allowed)
    if (deliveries <= 0) return []
    left -= deliveries
    ofProjects.set(webhook.projectId, ofProject + deliveries)
    return [{ webhook, deliveries }]
  })
}

/**
 * The queue of deliveries. A claim is a lease: if its process crashes, another one attempts the delivery when the lease has
 * ended. A person's deliveries to a webhook are in flight in one process at a time. A failing endpoint is blocked as a
 * whole, so that its waiting deliveries cost nothing.
 */
export const createDeliveryQueue = ({
  db,
  connectionsPerEndpoint,
  leaseMs,
  firstBlockMs,
  longestBlockMs,
  pauseAfterMs,
}: QueueOptions) => ({
  /**
   * Claims at most `limit` due deliveries, oldest first. A project gets at most half of what is free.
   * @param inFlight the number of deliveries that this process is sending, by webhook
   */
  claim: (inFlight: ReadonlyMap<string, number>, limit: number): Promise<ClaimedDelivery[]> =>
    db.transaction(async (client) => {
      const locked = await client.query<Locked>({
        name: 'lock-webhooks',
        text: LOCK_WEBHOOKS,
        values: [[...inFlight.keys()], [...inFlight.values()], connectionsPerEndpoint, limit],
      })
      const allotted = allot(locked.rows, limit)
      if (allotted.length === 0) return []
      const webhooks = new Map(locked.rows.map((webhook) => [webhook.id, webhook]))
      await client.query({
        name: 'restore-webhook-deliveries',
        text: RESTORE,
        values: [allotted.map(({ webhook }) => webhook.id)],
      })
      const claimed = await client.query<Omit<ClaimedDelivery, 'url' | 'secrets' | 'webhookVersion'>>({
        name: 'claim-webhook-deliveries',
        text: CLAIM,
        values: [
          allotted.map(({ webhook }) => webhook.id),
          allotted.map(({ deliveries }) => deliveries),
          allotted.map(({ webhook }) => webhook.open),
          leaseMs,
        ],
      })
      const failing = locked.rows
        .filter(
          ({ id, failing, open }) =>
            failing && open && claimed.rows.some(({ webhookId, test }) => webhookId === id && !test),
        )
        .map(({ id }) => id)
      if (failing.length > 0) await client.query(BLOCK, [failing, leaseMs])
      return claimed.rows
        .sort((one, other) => (one.id < other.id ? -1 : 1))
        .map((delivery) => {
          const { url = '', secrets = [], version = 0 } = webhooks.get(delivery.webhookId) ?? {}
          return { ...delivery, url, secrets, webhookVersion: version }
        })
    }),

  /**
   * Stores the outcome of an attempt and the state of its endpoint. Resolves to why the attempt paused the webhook, if it did.
   * Changes nothing when the lease has ended and another process has the delivery.
   */
  settle: async ({ id, token }: ClaimedDelivery, settlement: Settlement): Promise<string | undefined> => {
    const {
      status,
      retryInMs = 0,
      responseStatus,
      responseBody,
      error,
      durationMs,
      gone,
      waitMs,
    } = settlement
    const { rows } = await db.pool.query<{ pausedReason: string | null }>({
      name: 'settle-webhook-delivery',
      text: SETTLE,
      values: [
        id,
        token,
        status,
        retryInMs,
        responseStatus,
        responseBody,
        error,
        durationMs,
        Math.random(),
        gone,
        status === 'delivered',
        pauseAfterMs,
        firstBlockMs,
        longestBlockMs,
        waitMs,
      ],
    })
    return rows[0]?.pausedReason ?? undefined
  },

  /**
   * Whether a claimed delivery may still be sent: its webhook is active and unchanged, its endpoint did not ask to wait,
   * and its person is not erased.
   */
  isCurrent: async ({ id, token, webhookVersion }: ClaimedDelivery): Promise<boolean> =>
    (
      await db.pool.query({
        name: 'is-delivery-current',
        text: IS_CURRENT,
        values: [id, token, webhookVersion],
      })
    ).rowCount === 1,

  /** Makes claimed deliveries due again without an attempt. */
  release: async (deliveries: readonly ClaimedDelivery[]): Promise<void> => {
    await db.pool.query(RELEASE, [deliveries.map(({ id }) => id), deliveries.map(({ token }) => token)])
  },

  /** How long the oldest due delivery to an endpoint that works has waited, in seconds; 0 without one. */
  oldestDueSeconds: async (): Promise<number> =>
    (await db.pool.query<{ seconds: number }>(OLDEST_DUE)).rows[0]?.seconds ?? 0,

  /** Deletes up to 5,000 deliveries that are older than `days`, and resolves to how many. */
  deleteOld: async (days: number): Promise<number> => (await db.pool.query(DELETE_OLD, [days])).rowCount ?? 0,

  /**
   * Deletes up to 5,000 deliveries of deleted webhooks, and the webhooks that have none left. Resolves to the number of
   * rows.
   */
  deleteDeleted: async (): Promise<number> => {
    const { rowCount } = await db.pool.query(DELETE_OF_DELETED)
    return rowCount || ((await db.pool.query(DELETE_EMPTY)).rowCount ?? 0)
  },
})

export type DeliveryQueue = ReturnType<typeof createDeliveryQueue>
