import type { RuleStop } from '@waymark/contracts/decision-definition'
import { NOW } from '@waymark/database'
import type { Pool } from 'pg'

/** An email that a guard stopped a decision. `attempts` counts this one. */
export type StopNotice = {
  id: string
  projectId: string
  decisionKey: string
  /** The name of the project. */
  project: string
  recipient: string
  evidence: RuleStop & { environment: string; ruleId: string }
  attempts: number
}

// A claim lasts five minutes, longer with each attempt.
const CLAIM = `
  UPDATE decision.stop_notices n SET attempts = attempts + 1, due_at = now() + (attempts + 1) * interval '5 minutes'
  WHERE id = (SELECT id FROM decision.stop_notices WHERE due_at <= ${NOW} ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING id, project_id AS "projectId", recipient, evidence, attempts,
    (SELECT key FROM decision.decisions d WHERE d.id = n.decision_id) AS "decisionKey",
    (SELECT name FROM core.projects p WHERE p.id = n.project_id) AS project`
const DONE = 'DELETE FROM decision.stop_notices WHERE id = $1 AND attempts = $2'

/** Claims an email about a stopped decision that is due. */
export const claimStopNotice = async (pool: Pool): Promise<StopNotice | undefined> => {
  const { rows } = await pool.query<StopNotice>(CLAIM)
  return rows[0]
}

/** Ends the attempts to send an email about a stopped decision, unless another claim has started. */
export const finishStopNotice = async (pool: Pool, id: string, attempts: number): Promise<void> => {
  await pool.query(DONE, [id, attempts])
}
