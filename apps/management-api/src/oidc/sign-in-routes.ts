import {
  findOidcProviders,
  finishOidcSignIn,
  linkIdentity,
  reauthenticateWithProvider,
  startOidcSignIn,
} from '@waymark/contracts/http/oidc'
import { guardedRoute, type Reply, type Route } from '@waymark/service-kit'
import { clientOf } from '../http/request-parts.ts'
import { requireFound, unprocessable } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { parseDomain } from './domains.ts'
import { createFinishCallback, type Purpose } from './finish-callback.ts'
import type { OidcDeps } from './oidc-deps.ts'
import { createPendingSignIns } from './pending-sign-in-queries.ts'
import { createProviderFlow } from './provider-flow.ts'

/** Sign-in with the provider of a tenant. */
export const oidcSignInRoutes = (deps: ManagementDeps & { oidc: OidcDeps }): Route[] => {
  const { accountRoutes, accountLimits, auditLog, db } = deps
  const pending = createPendingSignIns(deps)
  const flow = createProviderFlow({ ...deps, pending })
  const finishCallback = createFinishCallback({ ...deps, pending, flow })

  return [
    accountRoutes.open(findOidcProviders, async ({ query, client }) => {
      await accountLimits.countSignIn(client.address)
      const domain = parseDomain(query.domain)
      const data = domain
        ? await db.prisma.oidcProvider.findMany({
            where: { tenant: { domains: { some: { domain, verifiedAt: { not: null } } } } },
            select: { id: true, name: true },
            orderBy: { id: 'asc' },
          })
        : []
      return { body: { data } }
    }),

    accountRoutes.open(startOidcSignIn, async ({ body: { providerId, next }, client }) => {
      await accountLimits.countSignIn(client.address)
      return flow.begin(providerId, { next })
    }),

    accountRoutes.signedIn(linkIdentity, async ({ session, body: { providerId, next }, client }) => {
      await accountLimits.countSignIn(client.address)
      return flow.begin(providerId, { next, sessionId: session.id })
    }),

    accountRoutes.signedIn(reauthenticateWithProvider, async ({ session: { id, identityId }, client }) => {
      if (identityId === null)
        throw unprocessable(
          '',
          'provider_session',
          'needs a session that began with a provider; use POST /api/auth/reauthenticate',
        )
      await accountLimits.countSignIn(client.address)
      const { providerId } = requireFound(
        await db.prisma.userIdentity.findUnique({ where: { id: identityId } }),
      )
      return flow.begin(providerId, { sessionId: id, reauthenticates: true })
    }),

    guardedRoute(finishOidcSignIn, allowAnyone, async (request): Promise<Reply> => {
      const { purpose, next, ...result } = await finishCallback(request)
      const { userId, changedProjects = [] } = result
      if (userId !== undefined) {
        const client = clientOf(request)
        if (!('failure' in result))
          await auditLog.recordOfUser(userId, { operation: OPERATIONS[purpose], client })
        const actor = { kind: 'user' as const, id: userId }
        const resourceId = userId
        for (const projectId of changedProjects)
          await auditLog.record(projectId, { actor, operation: MAPPED, resourceId, client })
      }
      const pages = PAGES[purpose]
      const page = 'failure' in result ? `${pages.failed}?failure=${result.failure}` : pages.done
      const location = next
        ? `${page}${page.includes('?') ? '&' : '?'}next=${encodeURIComponent(next)}`
        : page
      return { status: 303, headers: { Location: location, 'Cache-Control': 'no-store' } }
    }),
  ]
}

// The state in the query and the cookie are checked with the rest.
const allowAnyone = async (): Promise<void> => {}

/** The operation in the audit log of a project whose membership a provider's groups changed. */
const MAPPED = 'applyRoleMappings'

const OPERATIONS: Readonly<Record<Purpose, string>> = {
  'sign-in': finishOidcSignIn.id,
  link: linkIdentity.id,
  reauthentication: reauthenticateWithProvider.id,
}

const PAGES: Readonly<Record<Purpose, { done: string; failed: string }>> = {
  'sign-in': { done: '/console/signed-in', failed: '/console/sign-in' },
  link: { done: '/console/signed-in', failed: '/console/link-failed' },
  reauthentication: { done: '/console/proved', failed: '/console/proof-failed' },
}
