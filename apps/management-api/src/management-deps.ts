import type { ErasureJob, IsAllowedSender } from '@waymark/pipeline'
import type { Platform } from '@waymark/service-kit'
import type { AccountLimits } from './accounts/account-limits.ts'
import type { Passwords } from './accounts/passwords.ts'
import type { Sessions } from './accounts/session-queries.ts'
import type { RunList, RunQuery } from './analytics/run-queries.ts'
import type { AuditLog } from './audit/audit-log.ts'
import type { RegistrationMode } from './config.ts'
import type { AccountRoutes } from './http/account-route.ts'
import type { Exports } from './http/exports.ts'
import type { ProjectRouteFactory } from './http/project-route.ts'
import type { ResolveTxt } from './oidc/domains.ts'
import type { InvitationClaims } from './projects/invitation-claims.ts'
import type { Quotas } from './quotas.ts'

/** The dependencies of this app's routes. */
export type ManagementDeps = Platform & {
  accountRoutes: AccountRoutes
  projectRoute: ProjectRouteFactory
  accountLimits: AccountLimits
  auditLog: AuditLog
  exports: Exports
  invitationClaims: InvitationClaims
  isAllowedSender: IsAllowedSender
  passwords: Passwords
  sessions: Sessions
  quotas: Quotas
  registrationMode: RegistrationMode
  runQuery: RunQuery
  runList: RunList
  /** Public address of short links, without a slash at the end. */
  shortLinkBaseUrl: string
  /** Reads the DNS records that verify domains. */
  resolveTxt: ResolveTxt
  /** Removes stored data of an erased person and resolves to whether all of it is removed, after `deadlineMs` at most. */
  purge: (job: ErasureJob, deadlineMs: number) => Promise<boolean>
}
