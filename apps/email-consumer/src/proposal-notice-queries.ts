import { NOW } from '@waymark/database'
import type { Pool } from 'pg'

/** An email about a proposal. `attempts` counts this one. */
export type ProposalNotice = {
  id: string
  proposalId: string
  projectId: string
  decisionKey: string
  /** The name of the project. */
  project: string
  /** A newer version may write others. */
  kind: string
  recipient: string
  actor: string
  comment: string | null
  attempts: number
}

// A claim lasts five minutes, longer with each attempt.
const CLAIM = `
  UPDATE decision.proposal_notices n
  SET attempts = attempts + 1, due_at = now() + (attempts + 1) * interval '5 minutes'
  FROM decision.proposals p
  JOIN decision.decisions d ON d.id = p.decision_id
  JOIN core.projects j ON j.id = p.project_id
  WHERE p.id = n.proposal_id AND n.id = (
    SELECT id FROM decision.proposal_notices WHERE due_at <= ${NOW} ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED
  )
  RETURNING n.id, n.proposal_id AS "proposalId", n.kind, n.recipient, n.actor, n.comment, n.attempts,
    p.project_id AS "projectId", d.key AS "decisionKey", j.name AS project`
const DONE = 'DELETE FROM decision.proposal_notices WHERE id = $1 AND attempts = $2'

/** Claims an email about a proposal that is due. */
export const claimProposalNotice = async (pool: Pool): Promise<ProposalNotice | undefined> => {
  const { rows } = await pool.query<ProposalNotice>(CLAIM)
  return rows[0]
}

/** Ends the attempts to send an email about a proposal, unless another claim has started. */
export const finishProposalNotice = async (pool: Pool, id: string, attempts: number): Promise<void> => {
  await pool.query(DONE, [id, attempts])
}
