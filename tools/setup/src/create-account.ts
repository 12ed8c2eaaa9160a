import { randomBytes } from 'node:crypto'
import { canonicalAddress } from '@waymark/contracts/email-address'
import type { Database } from '@waymark/database'
import { hashPassword } from '@waymark/domain/account'
import { v7 as uuidv7 } from 'uuid'

/** The owner of the account. */
type NewAccount = { email: string; name: string }
/** The credentials of the account; the password is not stored. */
type CreatedAccount = { email: string; password: string; projectId: string }

/**
 * Creates an account with a tenant, a first project and a random password, in any REGISTRATION_MODE.
 * @throws Error when the address is invalid or has an account
 */
export const createAccount = async (
  { prisma }: Pick<Database, 'prisma'>,
  { email: given, name }: NewAccount,
): Promise<CreatedAccount> => {
  const email = canonicalAddress(given)
  if (email === undefined) throw new Error('ACCOUNT_EMAIL must be an email address, such as ann@shop.example')
  const password = randomBytes(15).toString('base64url')
  const passwordHash = await hashPassword(password)
  const projectId = await prisma.$transaction(async (tx) => {
    if (await tx.user.findUnique({ where: { email } }))
      throw new Error(`ACCOUNT_EMAIL: ${email} has an account already`)
    const user = await tx.user.create({ data: { id: uuidv7(), email, name: name || email, passwordHash } })
    const project = await tx.project.create({
      data: {
        id: uuidv7(),
        name: 'My project',
        tenant: { create: { id: uuidv7(), name: name || email } },
        members: { create: { userId: user.id, role: 'owner' } },
      },
    })
    return project.id
  })
  return { email, password, projectId }
}
