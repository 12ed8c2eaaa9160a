import { createSuppression, deleteSuppression, listSuppressions } from '@waymark/contracts'
import type { Prisma } from '@waymark/database'
import { comparableAddress, isEmailAddress } from '@waymark/domain'
import type { Platform, Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { pageOf } from '../http/page.ts'
import type { ProjectRouteFactory } from '../http/project-route.ts'
import { requireFound, requireId, unprocessable } from '../http/validation.ts'

type Suppression = Prisma.EmailSuppressionGetPayload<object>

/** The addresses that a project sends nothing to. */
export const suppressionRoutes = ({
  projectRoute,
  db,
}: Pick<Platform, 'db'> & { projectRoute: ProjectRouteFactory }): Route[] => [
  projectRoute(listSuppressions, async ({ projectId, query }) => {
    const filter = {
      projectId,
      ...(query.address !== undefined && { address: comparableAddress(query.address) }),
    }
    return {
      body: await pageOf(
        query,
        (where, take) =>
          db.prisma.emailSuppression.findMany({
            where: { ...filter, ...where },
            orderBy: { id: 'desc' },
            take,
          }),
        view,
      ),
    }
  }),
  projectRoute(createSuppression, async ({ projectId, body }) => {
    const address = comparableAddress(body.address)
    if (!isEmailAddress(address)) throw unprocessable('address', 'email', 'must be an email address', address)
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
      await tx.$queryRaw`SELECT 1 FROM email.suppressions WHERE id = ${requireId(id)}::uuid FOR UPDATE`
      requireMatch(view(requireFound(await tx.emailSuppression.findFirst({ where: { id, projectId } }))))
      await tx.emailSuppression.delete({ where: { id } })
    })
    return { status: 204 }
  }),
]

const view = ({ projectId: _projectId, ...suppression }: Suppression) => suppression
