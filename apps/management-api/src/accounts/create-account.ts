import { AppError } from '@waymark/contracts/app-error'
import { Prisma } from '@waymark/database'
import { v7 as uuidv7 } from 'uuid'
import { unprocessable } from '../http/validation.ts'
import { queueAccountMail } from './account-mail-queries.ts'

/** A user to create; the address is in lower case. */
export type NewUser = { email: string; name: string; passwordHash: string }

const DEFAULT_PROJECT = 'My project'

/**
 * Creates a user, and queues the email that confirms the address.
 * @throws AppError unprocessable when the address has an account
 */
export const createUser = async (tx: Prisma.TransactionClient, user: NewUser) => {
  const created = await tx.user.create({ data: { id: uuidv7(), ...user } }).catch((error: unknown) => {
    if (error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002')
      throw unprocessable('email', 'unique', 'has an account already: sign in, or use another address')
    throw error
  })
  await queueAccountMail(tx, created, 'verify_email')
  return created
}

/** Creates a tenant with a first project and its owner. */
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

/** 403 for a registration while REGISTRATION_MODE is `closed`. */
export const registrationClosed = (): AppError =>
  new AppError(
    'forbidden',
    'Registration is closed in this deployment (REGISTRATION_MODE is closed); ask its operator for an account',
  )

/** 403 for a registration without an invitation while REGISTRATION_MODE is `invite`. */
export const invitationRequired = (): AppError =>
  new AppError(
    'forbidden',
    'Registration requires an invitation in this deployment (REGISTRATION_MODE is invite); send its token as invitationToken, ' +
      'or ask an admin of a project to invite you',
  )
