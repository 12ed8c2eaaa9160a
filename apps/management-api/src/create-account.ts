import { Prisma } from '@waymark/database'
import { v7 as uuidv7 } from 'uuid'
import { unprocessable } from './validation.ts'

/** Somebody who gets an account; the address is in lower case. */
export type NewUser = { email: string; name: string; passwordHash: string }

const DEFAULT_PROJECT = 'My project'

/**
 * Makes a user.
 * @throws AppError unprocessable when the address has an account
 */
export const createUser = async (tx: Prisma.TransactionClient, user: NewUser) =>
  tx.user.create({ data: { id: uuidv7(), ...user } }).catch((error: unknown) => {
    if (error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002')
      throw unprocessable('email', 'unique', 'has an account already')
    throw error
  })

/** Makes a tenant with a first project and its owner. */
export const createTenant = (
  tx: Prisma.TransactionClient,
  ownerId: string,
  tenantName: string,
  projectName = DEFAULT_PROJECT,
) =>
  tx.project.create({
    data: {
      id: uuidv7(),
      name: projectName,
      tenant: { create: { id: uuidv7(), name: tenantName } },
      members: { create: { userId: ownerId, role: 'owner' } },
    },
  })
