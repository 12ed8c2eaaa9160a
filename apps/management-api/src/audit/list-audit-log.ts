import { AuditEntryView, type AuditQuery, listAuditLog } from '@waymark/contracts/http/audit-log'
import { pick } from '@waymark/contracts/http/pick'
import { dateOfTime } from '@waymark/contracts/rfc3339'
import type { Route } from '@waymark/service-kit'
import { pageOf } from '../http/page.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { namesOf } from './actor-names.ts'

/** What was done in a project, latest first. */
export const auditLogRoute = ({ projectRoute, db }: ManagementDeps): Route =>
  projectRoute(listAuditLog, async ({ projectId, query }) => {
    const { data, nextCursor } = await pageOf(
      query,
      (page) => db.prisma.auditEntry.findMany(page({ projectId, ...filterOf(query) })),
      (entry) => entry,
    )
    const names = await namesOf(
      db.prisma,
      projectId,
      data.flatMap(({ actorId, accessTokenId }) => [actorId, accessTokenId ?? []].flat()),
    )
    const named = (id: string) => ({ id, name: names.get(id) ?? null })
    const view = ({ actorKind, actorId, accessTokenId, ...entry }: (typeof data)[number]) => ({
      ...pick(entry, AuditEntryView),
      actor: {
        kind: actorKind,
        ...named(actorId),
        accessToken: accessTokenId === null ? null : named(accessTokenId),
      },
    })
    return { body: { data: data.map(view), nextCursor } }
  })

const filterOf = ({ operation, actorId, resourceId, from, to }: AuditQuery) => ({
  ...(operation !== undefined && { operation }),
  ...(actorId !== undefined && { actorId }),
  ...(resourceId !== undefined && { resourceId }),
  ...((from !== undefined || to !== undefined) && {
    at: {
      ...(from !== undefined && { gte: dateOfTime(from) }),
      ...(to !== undefined && { lt: dateOfTime(to) }),
    },
  }),
})
