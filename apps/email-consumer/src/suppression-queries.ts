import type { SuppressionReason } from '@waymark/contracts/email'
import { bulkColumns } from '@waymark/database'
import { comparableAddress } from '@waymark/domain/email'
import type { ClientBase, Pool } from 'pg'
import { v7 as uuidv7 } from 'uuid'

/** An address in a project. */
type Addressee = { projectId: string; address: string }

/** Why a delivery to a suppressed address is not sent. */
export const SUPPRESSED = 'the address is on the suppression list'

const columns = bulkColumns<Addressee>([
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'address', type: 'text', of: ({ address }) => comparableAddress(address) },
])

const FIND = `
  SELECT project_id, address FROM ${columns.unnest} AS wanted (${columns.names})
  JOIN email.suppressions USING (project_id, address)`

/** Resolves to a function that says which of the addresses are suppressed. */
export const findSuppressed = async (
  db: Pool | ClientBase,
  addressees: readonly Addressee[],
): Promise<(addressee: Addressee) => boolean> => {
  if (addressees.length === 0) return () => false
  const { rows } = await db.query<{ project_id: string; address: string }>({
    name: 'find-suppressed',
    text: FIND,
    values: columns.values(addressees),
  })
  const found = new Set(rows.map(({ project_id, address }) => `${project_id}/${address}`))
  return ({ projectId, address }) => found.has(`${projectId}/${comparableAddress(address)}`)
}

/** An address to suppress, and the reason. */
type NewSuppression = Addressee & { reason: SuppressionReason; detail: string | null }

const newColumns = bulkColumns<NewSuppression>([
  { name: 'id', type: 'uuid', of: () => uuidv7() },
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'address', type: 'text', of: ({ address }) => comparableAddress(address) },
  { name: 'reason', type: 'text', of: ({ reason }) => reason },
  { name: 'detail', type: 'text', of: ({ detail }) => detail },
])

const INSERT = `
  INSERT INTO email.suppressions (${newColumns.names})
  SELECT * FROM ${newColumns.unnest} AS given (${newColumns.names}) ORDER BY project_id, address
  ON CONFLICT (project_id, address) DO NOTHING`

/** Suppresses addresses and resolves to how many were not suppressed before. */
export const suppress = async (
  db: Pool | ClientBase,
  suppressions: readonly NewSuppression[],
): Promise<number> => {
  if (suppressions.length === 0) return 0
  const { rowCount } = await db.query({
    name: 'suppress',
    text: INSERT,
    values: newColumns.values(suppressions),
  })
  return rowCount ?? 0
}
