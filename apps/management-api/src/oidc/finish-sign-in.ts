import type { Prisma } from '@waymark/database'
import { generateToken } from '@waymark/domain/account'
import { v7 as uuidv7 } from 'uuid'
import { queueAccountMail } from '../accounts/account-mail-queries.ts'
import type { Session } from '../accounts/session-queries.ts'
import { lockRow } from '../lock-queries.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { accountName, type ProviderUser } from './claims.ts'
import { findVerifiedDomain, type ResolveTxt } from './domains.ts'
import type { OidcProvider } from './provider-clients.ts'
import { applyMappings, mappedRoles, mappingsOf } from './role-mappings.ts'

/** Why a sign-in failed. The console explains each. */
export type SignInFailure =
  | 'expired'
  | 'denied'
  | 'provider_unavailable'
  | 'provider_refused'
  | 'rate_limited'
  | 'address_not_verified'
  | 'not_a_member'
  | 'no_role'
  | 'link_required'
  | 'registration_closed'
  | 'member_quota'
  | 'session_ended'
  | 'address_differs'
  | 'linked_elsewhere'
  | 'linked_already'
  | 'other_user'
  | 'not_asked_again'

type Found = { identityId: string; userId: string; changedProjects: string[] }
export type SignInResult = { failure: SignInFailure; changedProjects?: string[]; userId?: string } | Found

/** Rolls the creation of an account back. */
class RefusedError extends Error {}

/** The clocks of a provider and of this process may differ by this, in ms. */
const CLOCK_TOLERANCE_MS = 60_000

type Deps = Pick<ManagementDeps, 'db' | 'clock' | 'quotas' | 'passwords' | 'registrationMode'> & {
  resolveTxt: ResolveTxt
}
type Tx = Prisma.TransactionClient

/** Finds or creates the user whom a provider has signed in. A provider never gets an account that it was not linked to. */
export const createFinishSignIn = ({ db, clock, quotas, passwords, registrationMode, resolveTxt }: Deps) => {
  const admit = async (
    tx: Tx,
    provider: OidcProvider,
    { id: identityId, userId }: { id: string; userId: string },
    { groups }: ProviderUser,
  ): Promise<SignInResult> => {
    const changedProjects = await applyMappings(tx, provider, userId, groups, { now: clock(), quotas })
    const member = await tx.projectMember.findFirst({
      where: { userId, project: { tenantId: provider.tenantId, archivedAt: null } },
    })
    // A removed membership stays removed.
    return member ? { identityId, userId, changedProjects } : { failure: 'no_role', changedProjects, userId }
  }

  const createIdentity = (tx: Tx, provider: OidcProvider, userId: string, { subject, email }: ProviderUser) =>
    tx.userIdentity.create({
      data: { id: uuidv7(), providerId: provider.id, userId, subject, email, lastUsedAt: new Date(clock()) },
    })

  const renewIdentity = (tx: Tx, id: string, { email }: ProviderUser) =>
    tx.userIdentity.update({ where: { id }, data: { email, lastUsedAt: new Date(clock()) } })

  const identityOf = (tx: Pick<Tx, 'userIdentity'>, provider: OidcProvider, { subject }: ProviderUser) =>
    tx.userIdentity.findUnique({
      where: { providerId_subject: { providerId: provider.id, subject } },
    })

  // Two first sign-ins of one user come one after another.
  const lockProvider = (tx: Tx, { id }: OidcProvider) =>
    lockRow(tx, 'core.oidc_providers', id, 'NO KEY UPDATE')

  const orRollBack = async (work: (tx: Tx) => Promise<SignInResult>): Promise<SignInResult> => {
    try {
      return await db.prisma.$transaction(work)
    } catch (error) {
      if (error instanceof RefusedError) return { failure: 'no_role' }
      throw error
    }
  }

  /**
   * An account for a new user of a provider. The tenant has to control the domain of the address, and the provider to have
   * verified the address. Without both the answer is the same whether or not the address has an account.
   */
  const createAccount = async (provider: OidcProvider, user: ProviderUser): Promise<SignInResult> => {
    const { email } = user
    if (email === null) return { failure: 'address_not_verified' }
    const domain = await findVerifiedDomain({ db, resolveTxt }, provider.tenantId, email)
    if (!domain) return { failure: 'not_a_member' }
    if (registrationMode === 'closed') return { failure: 'registration_closed' }
    const roles = mappedRoles(mappingsOf(provider), user.groups)
    if (![...roles.values()].some(Boolean)) return { failure: 'no_role' }
    // The password is random. The owner of the mailbox can set another.
    const passwordHash = await passwords.hash(generateToken().token)
    return orRollBack(async (tx) => {
      await lockProvider(tx, provider)
      const known = await identityOf(tx, provider, user)
      if (known) return admit(tx, provider, known, user)
      if (await tx.user.findUnique({ where: { email } })) return { failure: 'link_required' }
      const created = await tx.user.create({
        data: {
          id: uuidv7(),
          email,
          name: accountName(user),
          passwordHash,
          emailVerifiedAt: new Date(clock()),
        },
      })
      const identity = await createIdentity(tx, provider, created.id, user)
      const result = await admit(tx, provider, identity, user)
      // All of its projects are archived, or in another tenant.
      if ('failure' in result) throw new RefusedError()
      return result
    })
  }

  return {
    /** The user who signs in. */
    signIn: async (provider: OidcProvider, user: ProviderUser): Promise<SignInResult> => {
      const found = await db.prisma.$transaction(async (tx) => {
        const known = await identityOf(tx, provider, user)
        return known && admit(tx, provider, await renewIdentity(tx, known.id, user), user)
      })
      return found ?? createAccount(provider, user)
    },

    /** Links the provider to the user of a session. */
    link: (
      provider: OidcProvider,
      user: ProviderUser,
      { user: { id: userId, email } }: Session,
    ): Promise<SignInResult> =>
      db.prisma.$transaction(async (tx): Promise<SignInResult> => {
        if (user.email === null) return { failure: 'address_not_verified' }
        if (user.email !== email) return { failure: 'address_differs' }
        await lockProvider(tx, provider)
        const known = await identityOf(tx, provider, user)
        if (known && known.userId !== userId) return { failure: 'linked_elsewhere' }
        const other = await tx.userIdentity.findFirst({ where: { userId, providerId: provider.id } })
        if (other && other.id !== known?.id) return { failure: 'linked_already' }
        const identity = known ?? (await createIdentity(tx, provider, userId, user))
        if (!known) await queueAccountMail(tx, { id: userId, email }, 'sign_in_method_added')
        const changedProjects = await applyMappings(tx, provider, userId, user.groups, {
          now: clock(),
          quotas,
        })
        return { identityId: identity.id, userId, changedProjects }
      }),

    /** Checks that the user of a session has signed in at its provider again, after `startedAt`. */
    prove: async (
      provider: OidcProvider,
      user: ProviderUser,
      { identityId }: Session,
      startedAt: Date,
    ): Promise<SignInResult> => {
      const known = await identityOf(db.prisma, provider, user)
      if (!known || known.id !== identityId) return { failure: 'other_user' }
      const earliest = startedAt.getTime() - CLOCK_TOLERANCE_MS
      if (user.signedInAt === null || user.signedInAt < earliest) return { failure: 'not_asked_again' }
      return { identityId, userId: known.userId, changedProjects: [] }
    },
  }
}

export type FinishSignIn = ReturnType<typeof createFinishSignIn>
