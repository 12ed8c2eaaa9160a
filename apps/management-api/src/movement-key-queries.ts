import type { ClientBase } from 'pg'

/** The ledgers whose movements may have a key of the client. */
const LEDGERS = { card: 'coupon.card_movements', point: 'coupon.point_movements' } as const

const LOCK = `SELECT pg_advisory_xact_lock(hashtextextended($3::text || '-key:' || $1 || ':' || $2, 0))`

/** The hash of the request that has used a key. Prevents other uses of it until the transaction ends. */
export const lockMovementKey = async (
  client: ClientBase,
  ledger: keyof typeof LEDGERS,
  projectId: string,
  keyHash: string,
): Promise<string | undefined> => {
  await client.query(LOCK, [projectId, keyHash, ledger])
  const { rows } = await client.query<{ request_hash: string }>(
    `SELECT request_hash FROM ${LEDGERS[ledger]} WHERE project_id = $1 AND key_hash = $2`,
    [projectId, keyHash],
  )
  return rows[0]?.request_hash
}
