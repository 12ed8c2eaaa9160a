import type { PointMovementView } from '@waymark/contracts/http/loyalty'
import type { PointMovementKind } from '@waymark/contracts/loyalty'
import type { ClientBase, Pool } from 'pg'

const LEDGER = `
  SELECT account, sum(points)::float8 AS points FROM coupon.point_entries WHERE programme_id = $1 GROUP BY account`

/** The sums of the accounts of a programme, in points. */
export const readLedger = async (db: Pool, programmeId: string): Promise<ReadonlyMap<string, number>> => {
  const { rows } = await db.query<{ account: string; points: number }>(LEDGER, [programmeId])
  return new Map(rows.map(({ account, points }) => [account, points]))
}

const PERSON = `
  SELECT p.id, p.traits,
    ARRAY(SELECT p.id UNION ALL SELECT m.id FROM ingest.profiles m WHERE m.merged_into = p.id) AS "profileIds"
  FROM ingest.profiles asked JOIN ingest.profiles p ON p.id = coalesce(asked.merged_into, asked.id)
  WHERE asked.project_id = $1 AND asked.id = $2`

/** A person by all their profiles. `id`: the profile that the others were merged into. */
export type PersonRow = { id: string; traits: Record<string, unknown>; profileIds: string[] }

/** The person of a profile, or of the one that it was merged into; undefined when there is none. */
export const findPersonOfProfile = async (
  db: Pool | ClientBase,
  projectId: string,
  profileId: string,
): Promise<PersonRow | undefined> =>
  (await db.query<PersonRow>({ name: 'points-person', text: PERSON, values: [projectId, profileId] })).rows[0]

const LOCK_PROFILE = 'SELECT FROM ingest.profiles WHERE id = $1 FOR KEY SHARE'

/** Prevents the erasure of a profile until the transaction ends. Resolves to false if it was erased. */
export const lockProfile = async (client: ClientBase, profileId: string): Promise<boolean> =>
  (await client.query(LOCK_PROFILE, [profileId])).rowCount !== 0

type MovementRow = Omit<PointMovementView, 'createdAt' | 'occurredAt' | 'expiresAt'> & {
  kind: PointMovementKind
  createdAt: Date
  occurredAt: Date
  expiresAt: Date | null
}

/** A page of the movements of a programme, of a person or of an order, the newest first: at most `take` with ids below `before`. */
export const listMovements = async (
  db: Pool,
  programmeId: string,
  { profileIds, orderId }: { profileIds: readonly string[] | undefined; orderId: string | undefined },
  { before, take }: { before: string | undefined; take: number },
): Promise<MovementRow[]> => {
  const values: unknown[] = [programmeId, take]
  const parameter = (value: unknown) => `$${values.push(value)}`
  const conditions = ['m.programme_id = $1']
  const seen = ["e.movement_id = m.id AND e.account = 'person'"]
  const older = before === undefined ? undefined : `${parameter(before)}::uuid`
  if (older !== undefined) conditions.push(`m.id < ${older}`)
  if (orderId !== undefined) conditions.push(`m.order_id = ${parameter(orderId)}`)
  if (profileIds !== undefined) {
    const accounts = `SELECT id FROM coupon.point_accounts
      WHERE programme_id = $1 AND profile_id = ANY(${parameter(profileIds)}::uuid[])`
    const page = older === undefined ? '' : ` AND movement_id < ${older}`
    conditions.push(
      `m.id IN (SELECT movement_id FROM coupon.point_entries WHERE account_id IN (${accounts})${page})`,
    )
    seen.push(`e.account_id IN (${accounts})`)
  }
  const text = `
    SELECT m.id, m.kind, coalesce(moved.points, 0)::float8 AS points, m.order_id AS "orderId", m.amount::float8 AS amount,
      m.currency, m.shortfall::float8 AS shortfall, m.reason, m.occurred_at AS "occurredAt",
      m.expires_at AS "expiresAt", m.created_at AS "createdAt"
    FROM coupon.point_movements m
    CROSS JOIN LATERAL (
      SELECT sum(e.points) AS points FROM coupon.point_entries e WHERE ${seen.join(' AND ')}
    ) AS moved
    WHERE ${conditions.join(' AND ')} ORDER BY m.id DESC LIMIT $2`
  return (await db.query<MovementRow>(text, values)).rows
}
