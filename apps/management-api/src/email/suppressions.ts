import { canonicalAddress } from '@waymark/contracts/email-address'
import { pick } from '@waymark/contracts/http/pick'
import {
  createSuppression,
  deleteSuppression,
  listSuppressions,
  SuppressionView,
} from '@waymark/contracts/http/suppressions'
import type { Prisma } from '@waymark/database'
import { comparableAddress } from '@waymark/domain/email'
import type { Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { pageOf } from '../http/page.ts'
import { requireFound, unprocessable } from '../http/validation.ts'
import { lockRow } from '../lock-queries.ts'
import type { ManagementDeps } from '../management-deps.ts'

type Suppression = Prisma.EmailSuppressionGetPayload<object>

/** The addresses to which a project sends no email. */
export const suppressionRoutes = ({ projectRoute, db }: ManagementDeps): Route[] => [
  projectRoute(listSuppressions, async ({ projectId, query }) => {
    const filter = {
      projectId,
      ...(query.address !== undefined && { address: comparableAddress(query.address) }),
    }
    return {
      body: await pageOf(query, (page) => db.prisma.emailSuppression.findMany(page({ ...filter })), view),
    }
  }),
  projectRoute(createSuppression, async ({ projectId, body }) => {
    const address = canonicalAddress(body.address)
    if (address === undefined)
      throw unprocessable('address', 'email', 'must be an email address', body.address)
    const created = await db.prisma.emailSuppression.createMany({
      data: [{ id: uuidv7(), projectId, address, reason: 'manual' }],
      skipDuplicates: true,
    })
    const where = { projectId_address: { projectId, address } }
    const found = requireFound(await db.prisma.emailSuppression.findUnique({ where }))
    return { status: created.count === 0 ? 200 : 201, body: view(found) }
  }),
  projectRoute(deleteSuppression, async ({ projectId, id, requireMatch }) => {
    await db.prisma.$transaction(async (tx) => {
      await lockRow(tx, 'email.suppressions', id)
      requireMatch(view(requireFound(await tx.emailSuppression.findFirst({ where: { id, projectId } }))))
      await tx.emailSuppression.delete({ where: { id } })
    })
    return { status: 204 }
  }),
]

const view = (suppression: Suppression) => pick(suppression, SuppressionView)
