import type { EmailDeliveryStatus } from '@waymark/contracts/email'
import { type Database, NOW } from '@waymark/database'
import { publishEmails, type ReportedEmail } from './publish-emails.ts'

/** A delivery that this process may attempt until its lease ends. */
export type ClaimedDelivery = {
  id: string
  token: string
  projectId: string
  triggerId: string
  recipient: string
  test: boolean
  attempts: number
  queuedAt: Date
  context: {
    traits: Record<string, unknown>
    event: Record<string, unknown>
    profile: Record<string, unknown>
  }
}

/** How an attempt ended. */
export type Settlement = {
  status: EmailDeliveryStatus
  reason: string | null
  /** Delay of the next attempt of a `pending` delivery, in ms. */
  retryInMs?: number
  /** Whether the message was handed over. */
  attempted: boolean
  /** Whether the age that ends retries is counted from the next attempt. */
  restartsAge?: boolean
}

/** The lease has ended and another process has claimed the delivery. */
export class LeaseLostError extends Error {}

// Enough for a slow server to ask for the message.
const CLAIM_LEASE_MS = 5 * 60_000

const CLAIM = `
  WITH due AS (
    SELECT id FROM email.deliveries WHERE next_attempt_at <= ${NOW} AND status = 'pending'
    ORDER BY next_attempt_at LIMIT $1 FOR UPDATE SKIP LOCKED
  )
  UPDATE email.deliveries d SET attempt_token = gen_random_uuid(), next_attempt_at = now() + $2 * interval '1 ms'
  FROM due WHERE d.id = due.id
  RETURNING d.id, d.attempt_token AS token, d.project_id AS "projectId", d.trigger_id AS "triggerId", d.recipient, d.test,
    d.attempts, d.queued_at AS "queuedAt", d.context`

const BEGIN = `
  UPDATE email.deliveries SET status = 'sending', next_attempt_at = now() + $3 * interval '1 ms'
  WHERE id = $1 AND attempt_token = $2 AND status = 'pending'`

// An acceptance that arrives after the delivery became unconfirmed still counts.
const SETTLE = `
  UPDATE email.deliveries SET status = $3, reason = $4, attempt_token = NULL,
    attempts = attempts + CASE WHEN $6 AND status <> 'unconfirmed' THEN 1 ELSE 0 END,
    next_attempt_at = CASE WHEN $3 = 'pending' THEN now() + $5 * interval '1 ms' END,
    queued_at = CASE WHEN $7 THEN now() + $5 * interval '1 ms' ELSE queued_at END,
    context = CASE WHEN $3 IN ('pending', 'failed') THEN context END,
    sent_at = CASE WHEN $3 = 'sent' THEN now() END
  WHERE id = $1 AND attempt_token = $2 AND (status IN ('pending', 'sending') OR (status = 'unconfirmed' AND $3 = 'sent'))
  RETURNING id AS "deliveryId", project_id AS "projectId", trigger_id AS "triggerId", profile_id AS "profileId", test`

// Only an erasure removes the address of a delivery.
const ERASED = 'SELECT FROM email.deliveries WHERE id = $1 AND recipient IS NULL'

const GIVE_UP_UNCONFIRMED = `
  UPDATE email.deliveries SET status = 'unconfirmed', attempts = attempts + 1, next_attempt_at = NULL, context = NULL,
    reason = 'the process ended before the answer of the mail server was noted'
  WHERE next_attempt_at <= ${NOW} AND status = 'sending'`

// Of deliveries and of emails to users. Each is the first entry of an index.
const OLDEST_DUE = `
  SELECT coalesce(extract(epoch FROM now() - least(
    (SELECT next_attempt_at FROM email.deliveries
     WHERE next_attempt_at <= ${NOW} AND status = 'pending' ORDER BY next_attempt_at LIMIT 1),
    (SELECT mail_due_at FROM email.account_mails
     WHERE mail_due_at <= ${NOW} ORDER BY mail_due_at LIMIT 1))), 0)::float8 AS seconds`

/**
 * The queue of deliveries. A claim is a lease of some minutes. If a process crashes before `begin`, another one claims the
 * delivery; if it crashes later, the delivery becomes unconfirmed. `begin` succeeds only for the latest claim, so a delivery
 * is never attempted twice at once.
 */
export const createDeliveryQueue = (
  { pool, transaction }: Pick<Database, 'pool' | 'transaction'>,
  { sendLeaseMs }: { sendLeaseMs: number },
) => ({
  /** Claims at most `limit` due deliveries, longest waiting first. */
  claim: async (limit: number): Promise<ClaimedDelivery[]> => {
    const { rows } = await pool.query<ClaimedDelivery>({
      name: 'claim-deliveries',
      text: CLAIM,
      values: [limit, CLAIM_LEASE_MS],
    })
    return rows
  },
  /** Stores that the message is being handed over. @throws LeaseLostError when another process has claimed it */
  begin: async ({ id, token }: ClaimedDelivery): Promise<void> => {
    const { rowCount } = await pool.query({
      name: 'begin-delivery',
      text: BEGIN,
      values: [id, token, sendLeaseMs],
    })
    if (rowCount !== 1) throw new LeaseLostError('the lease of the delivery has ended')
  },
  /** Stores the outcome of an attempt, and publishes an email that was sent. Resolves to whether the delivery's person has been erased since. */
  settle: async (
    { id, token }: ClaimedDelivery,
    { status, reason, retryInMs = 0, attempted, restartsAge = false }: Settlement,
  ): Promise<{ erased: boolean }> => {
    const settled = await transaction(async (client) => {
      const { rows } = await client.query<ReportedEmail & { test: boolean }>({
        name: 'settle-delivery',
        text: SETTLE,
        values: [id, token, status, reason, retryInMs, attempted, restartsAge],
      })
      if (status === 'sent')
        await publishEmails(
          client,
          'sent',
          rows.filter(({ test }) => !test),
        )
      return rows.length
    })
    if (settled !== 0) return { erased: false }
    const found = await pool.query({ name: 'delivery-erased', text: ERASED, values: [id] })
    return { erased: found.rowCount !== 0 }
  },
  /** Marks deliveries whose process ended while sending as unconfirmed, and resolves to how many. */
  giveUpUnconfirmed: async (): Promise<number> => (await pool.query(GIVE_UP_UNCONFIRMED)).rowCount ?? 0,
  /** How long the oldest due email has waited, also one about an account, in seconds; 0 without one. */
  oldestDueSeconds: async (): Promise<number> =>
    (await pool.query<{ seconds: number }>(OLDEST_DUE)).rows[0]?.seconds ?? 0,
})

export type DeliveryQueue = ReturnType<typeof createDeliveryQueue>
