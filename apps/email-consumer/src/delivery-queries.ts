import type { ClientBase, Pool } from 'pg'
import type { ReportedEmail } from './publish-emails.ts'

const MARK = `
  UPDATE email.deliveries d SET status = 'bounced', reason = given.reason
  FROM unnest($2::uuid[], $3::text[]) AS given (id, reason)
  WHERE d.id = given.id AND d.project_id = $1 AND d.status IN ('sent', 'unconfirmed')
  RETURNING d.id AS "deliveryId", d.project_id AS "projectId", d.trigger_id AS "triggerId", d.profile_id AS "profileId",
    d.test`

/** Marks sent deliveries of a project as bounced, with reasons by delivery. Resolves to those that changed. */
export const markBounced = async (
  client: ClientBase,
  projectId: string,
  reasons: ReadonlyMap<string, string | null>,
): Promise<(ReportedEmail & { test: boolean })[]> => {
  if (reasons.size === 0) return []
  const values = [projectId, [...reasons.keys()], [...reasons.values()]]
  return (await client.query<ReportedEmail & { test: boolean }>(MARK, values)).rows
}

/** The recipient of a delivery, and the project that sent it. */
export type Recipient = { projectId: string; project: string; address: string }

const FIND = `
  SELECT d.project_id AS "projectId", p.name AS project, d.recipient AS address
  FROM email.deliveries d JOIN core.projects p ON p.id = d.project_id
  WHERE d.id = $1 AND d.recipient IS NOT NULL`

/** The recipient of a delivery; undefined when it does not exist or the recipient was erased. */
export const findRecipient = async (pool: Pool, deliveryId: string): Promise<Recipient | undefined> => {
  const { rows } = await pool.query<Recipient>({ name: 'find-recipient', text: FIND, values: [deliveryId] })
  return rows[0]
}
