import type { WorkOwner } from '@waymark/domain/fairness'
import type { ClientBase } from 'pg'

/** A pool whose codes are not all generated. */
export type UnfinishedPool = {
  id: string
  projectId: string
  prefix: string
  alphabet: string
  length: number
  /** What each gift card holds, in minor units, and its currency; null for other pools. */
  cardAmount: number | null
  cardCurrency: string | null
  /** Codes that are left to generate. */
  missing: number
}

const UNFINISHED = "generated < size AND status IN ('generating', 'ready')"

const WAITING = `
  SELECT DISTINCT q.tenant_id AS "tenantId", q.id AS "projectId"
  FROM coupon.pools p JOIN core.projects q ON q.id = p.project_id WHERE ${UNFINISHED}`

// The smallest remainder first, so that small pools do not wait for large ones. One worker per pool.
const NEXT = `
  SELECT id, project_id AS "projectId", prefix, alphabet, length, card_amount::float8 AS "cardAmount",
    card_currency AS "cardCurrency", size - generated AS missing
  FROM coupon.pools
  WHERE project_id = $1 AND ${UNFINISHED}
  ORDER BY size - generated, id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED`

const ADVANCE = `
  UPDATE coupon.pools SET generated = generated + $2, updated_at = now(),
    status = CASE WHEN generated + $2 = size THEN 'ready' ELSE status END
  WHERE id = $1`

// A ready pool stays ready with the codes that it has.
const FAIL = `
  UPDATE coupon.pools SET status = CASE status WHEN 'generating' THEN 'failed' ELSE status END, size = generated,
    failure = $2, updated_at = now()
  WHERE id = $1`

/** The projects with pools that need codes. */
export const findWaitingProjects = async (client: ClientBase): Promise<WorkOwner[]> => {
  const { rows } = await client.query<WorkOwner>({ name: 'waiting-pools', text: WAITING })
  return rows
}

/** Locks the next pool of a project that needs codes until the transaction ends; undefined if there is none. */
export const lockNextPool = async (
  client: ClientBase,
  projectId: string,
): Promise<UnfinishedPool | undefined> => {
  const { rows } = await client.query<UnfinishedPool>({ name: 'next-pool', text: NEXT, values: [projectId] })
  return rows[0]
}

/** Adds generated codes to a pool, and makes it ready when it has all of them. */
export const advancePool = async (client: ClientBase, id: string, generated: number): Promise<void> => {
  await client.query({ name: 'advance-pool', text: ADVANCE, values: [id, generated] })
}

/** Ends the generation of a pool that can get no more codes. `failure` is shown to its project. */
export const failPool = async (client: ClientBase, id: string, failure: string): Promise<void> => {
  await client.query({ name: 'fail-pool', text: FAIL, values: [id, failure] })
}
