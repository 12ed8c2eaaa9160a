import { NOW } from '@waymark/database'
import type { ReportMessage } from '@waymark/domain/subscription'
import type { Pool } from 'pg'
import { LeaseLostError } from './delivery-queue-queries.ts'

/** An email of a subscription to a member. It is deleted when the member leaves the project. */
export type SubscriptionMail = {
  id: string
  /** With this one. */
  attempts: number
  recipientId: string
  projectId: string
  address: string
  message: ReportMessage
  isArchived: boolean
  isUnsubscribed: boolean
}

// A claim lasts five minutes, longer with each attempt.
const CLAIM = `
  WITH claimed AS (
    UPDATE core.subscription_mails SET attempts = attempts + 1, due_at = now() + (attempts + 1) * interval '5 minutes'
    WHERE id = (
      SELECT id FROM core.subscription_mails WHERE status = 'pending' AND due_at <= ${NOW}
      ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED
    )
    RETURNING id, attempts, report_id, recipient_id
  )
  SELECT claimed.id, claimed.attempts, recipient.id AS "recipientId", subscription.project_id AS "projectId",
    recipient.address, report.message, project.archived_at IS NOT NULL AS "isArchived",
    recipient.unsubscribed_at IS NOT NULL AS "isUnsubscribed"
  FROM claimed
  JOIN core.subscription_reports report ON report.id = claimed.report_id
  JOIN core.subscriptions subscription ON subscription.id = report.subscription_id
  JOIN core.projects project ON project.id = subscription.project_id
  JOIN core.subscription_recipients recipient ON recipient.id = claimed.recipient_id`

const BEGIN = `
  UPDATE core.subscription_mails SET status = 'unconfirmed', settled_at = ${NOW}
  WHERE id = $1 AND attempts = $2 AND status = 'pending'`
const PUT_OFF = `
  UPDATE core.subscription_mails SET status = 'pending', settled_at = NULL
  WHERE id = $1 AND attempts = $2 AND status = 'unconfirmed'`
const SETTLE = `
  UPDATE core.subscription_mails SET status = $3, reason = $4, settled_at = ${NOW}
  WHERE id = $1 AND attempts = $2 AND status IN ('pending', 'unconfirmed')`

/** A claim of an email: another one ends it. */
type Claim = Pick<SubscriptionMail, 'id' | 'attempts'>

/** Claims an email of a subscription that is due. */
export const claimSubscriptionMail = async (pool: Pool): Promise<SubscriptionMail | undefined> => {
  const { rows } = await pool.query<SubscriptionMail>(CLAIM)
  return rows[0]
}

/** Stores that the email may be delivered from now on. @throws LeaseLostError when it may not be sent any more */
export const beginSubscriptionMail = async (pool: Pool, { id, attempts }: Claim): Promise<void> => {
  const { rowCount } = await pool.query(BEGIN, [id, attempts])
  if (rowCount === 0) throw new LeaseLostError()
}

/** Makes an email that the mail server refused for now wait for its next attempt. */
export const putOffSubscriptionMail = async (pool: Pool, { id, attempts }: Claim): Promise<void> => {
  await pool.query(PUT_OFF, [id, attempts])
}

/** Ends the attempts to send an email. */
export const settleSubscriptionMail = async (
  pool: Pool,
  { id, attempts }: Claim,
  status: 'sent' | 'failed' | 'skipped',
  reason: string | null,
): Promise<void> => {
  await pool.query(SETTLE, [id, attempts, status, reason])
}

/** Who would get no more emails of a subscription. */
export type Subscriber = { id: string; address: string; project: string; subscription: string }

const FIND = `
  SELECT recipient.id, recipient.address, project.name AS project, subscription.name AS subscription
  FROM core.subscription_recipients recipient
  JOIN core.subscriptions subscription ON subscription.id = recipient.subscription_id
  JOIN core.projects project ON project.id = subscription.project_id
  WHERE recipient.id = $1`
const UNSUBSCRIBE = `
  UPDATE core.subscription_recipients SET unsubscribed_at = coalesce(unsubscribed_at, ${NOW}) WHERE id = $1`

/** The recipient of a subscription; undefined when it does not exist. */
export const findSubscriber = async (pool: Pool, recipientId: string): Promise<Subscriber | undefined> => {
  const { rows } = await pool.query<Subscriber>(FIND, [recipientId])
  return rows[0]
}

/** Ends a subscription for a recipient. */
export const unsubscribeSubscriber = async (pool: Pool, recipientId: string): Promise<void> => {
  await pool.query(UNSUBSCRIBE, [recipientId])
}
