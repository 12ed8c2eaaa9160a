import type { Database } from '@waymark/database'
import { comparableAddress } from '@waymark/domain/email'
import { OPERATOR, readProjectIds, storeAuditEntries } from '@waymark/pipeline'
import { v7 as uuidv7 } from 'uuid'

/** The user without the second factor, and how many projects have an entry of it in their audit log. */
type ResetSecondFactor = { email: string; projects: number }

const FIND = 'SELECT id FROM core.users WHERE email = $1 FOR NO KEY UPDATE'
const NOTIFY = `
  INSERT INTO email.account_mails (id, kind, recipient, user_id, mail_due_at)
  VALUES ($1, 'second_factor_removed', $2, $3, now())`

// A sign-in that is being finished starts a session, so sessions come last.
const TABLES = ['recovery_codes', 'sign_in_challenges', 'sessions'] as const

/**
 * Removes the second factor of a user who has lost it, also of one in several tenants. Their sessions end, they are notified
 * by email, and the audit log of each of their projects records it.
 * @throws Error when the address has no account, or the account no second factor
 */
export const resetSecondFactor = (
  { transaction }: Pick<Database, 'transaction'>,
  given: string,
): Promise<ResetSecondFactor> =>
  transaction(async (client) => {
    const email = comparableAddress(given)
    const found = await client.query<{ id: string }>(FIND, [email])
    const userId = found.rows[0]?.id
    if (userId === undefined)
      throw new Error(`ACCOUNT_EMAIL must be the address of an account, not "${email}"`)
    const { rowCount } = await client.query(
      'DELETE FROM core.second_factors WHERE user_id = $1 AND secret IS NOT NULL',
      [userId],
    )
    if (rowCount === 0) throw new Error(`ACCOUNT_EMAIL: ${email} has no second factor`)
    for (const table of TABLES) await client.query(`DELETE FROM core.${table} WHERE user_id = $1`, [userId])
    await client.query(NOTIFY, [uuidv7(), email, userId])
    const projectIds = await readProjectIds(client, userId)
    await storeAuditEntries(client, projectIds, {
      actor: OPERATOR,
      operation: 'resetSecondFactor',
      resourceId: userId,
      fields: [],
      network: null,
      requestId: null,
      at: new Date(),
    })
    return { email, projects: projectIds.length }
  })
