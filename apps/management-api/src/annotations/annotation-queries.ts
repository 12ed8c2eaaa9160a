import type { AnnotationKind } from '@waymark/contracts/http/annotations'
import type { Pool } from 'pg'
import type { StoredDecision } from '../decisions/decision-rows.ts'

/** What happened, with its parts instead of a text: a note, the key of a decision or the name of an event. */
export type Happening = {
  id: string
  kind: AnnotationKind
  at: Date
  resourceId: string | null
  /** The text of a note, else the key or the name. */
  subject: string
  /** How a decision was changed, the percentage of a step, or the version of a schema; empty for a note. */
  change: string
}

const LIST = `
  SELECT id, 'note' AS kind, at, NULL::uuid AS "resourceId", text AS subject, '' AS change
  FROM core.annotations WHERE project_id = $1 AND at >= $2 AND at < $3
  UNION ALL
  SELECT md5(decision.id::text || version.version)::uuid, 'decision', version.changed_at, decision.id, decision.key,
    version.change
  FROM decision.decisions AS decision JOIN decision.decision_versions AS version ON version.decision_id = decision.id
  WHERE decision.project_id = $1 AND version.changed_at >= $2 AND version.changed_at < $3
    AND (version.status = 'active' OR version.change IN ('paused', 'stopped', 'archived'))
  UNION ALL
  SELECT version.id, 'schema', version.created_at, definition.id, definition.name, version.version::text
  FROM core.event_definitions AS definition
  JOIN core.event_definition_versions AS version ON version.definition_id = definition.id
  WHERE definition.project_id = $1 AND version.version > 1
    AND version.created_at >= $2 AND version.created_at < $3
  ORDER BY at DESC, id LIMIT $4`

/** The last `limit` things that happened in a project from one time to another, without the steps of ramps. */
export const listHappenings = async (
  pool: Pool,
  projectId: string,
  { from, to, limit }: { from: Date; to: Date; limit: number },
): Promise<Happening[]> => (await pool.query<Happening>(LIST, [projectId, from, to, limit])).rows

const RAMPED = `
  SELECT id, project_id AS "projectId", key, status, version, definition, states FROM decision.decisions
  WHERE project_id = $1 AND status = 'active' AND definition @? '$.rules[*].ramp[*]'`

/** The active decisions of a project that have a ramp in production. */
export const listRampedDecisions = async (pool: Pool, projectId: string): Promise<StoredDecision[]> =>
  (await pool.query<StoredDecision>(RAMPED, [projectId])).rows
