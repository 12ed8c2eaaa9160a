import {
  archiveMeteringSelector,
  createMeteringSelector,
  getMeteringSelector,
  listMeteringSelectors,
} from '@waymark/contracts'
import { Prisma } from '@waymark/database'
import { requireUsableLogic } from '@waymark/domain'
import type { Platform, Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { pageOf } from './page.ts'
import type { ProjectRouteFactory } from './project-route.ts'
import { requireFound, requireId } from './validation.ts'

type Selector = Prisma.MeteringSelectorGetPayload<object>

/** Which events are conversions. */
export const meteringSelectorRoutes = ({
  projectRoute,
  db,
}: Pick<Platform, 'db'> & { projectRoute: ProjectRouteFactory }): Route[] => [
  projectRoute(createMeteringSelector, async ({ projectId, body }) => {
    const { eventName, filter = null, ...properties } = body
    if (filter !== null) requireUsableLogic(filter)
    const [selector] = await db.prisma.$transaction([
      db.prisma.meteringSelector.create({
        data: {
          id: uuidv7(),
          projectId,
          eventName,
          filter: filter === null ? Prisma.DbNull : (filter as Prisma.InputJsonValue),
          amountProperty: properties.amountProperty ?? null,
          currencyProperty: properties.currencyProperty ?? null,
          quantityProperty: properties.quantityProperty ?? null,
        },
      }),
      db.prisma.configChange.create({ data: { projectId } }),
    ])
    return { status: 201, body: view(selector) }
  }),
  projectRoute(listMeteringSelectors, async ({ projectId, query }) => ({
    body: await pageOf(
      query,
      (where, take) =>
        db.prisma.meteringSelector.findMany({
          where: { projectId, archivedAt: null, ...where },
          orderBy: { id: 'desc' },
          take,
        }),
      view,
    ),
  })),
  projectRoute(getMeteringSelector, async ({ projectId, id }) => {
    const where = { id: requireId(id), projectId, archivedAt: null }
    return { body: view(requireFound(await db.prisma.meteringSelector.findFirst({ where }))) }
  }),
  projectRoute(archiveMeteringSelector, async ({ projectId, id, requireMatch }) => {
    await db.prisma.$transaction(async (tx) => {
      const where = { id: requireId(id), projectId, archivedAt: null }
      requireMatch(view(requireFound(await tx.meteringSelector.findFirst({ where }))))
      await tx.meteringSelector.update({ where: { id }, data: { archivedAt: new Date() } })
      await tx.configChange.create({ data: { projectId } })
    })
    return { status: 204 }
  }),
]

const view = ({ projectId: _projectId, archivedAt: _archivedAt, ...selector }: Selector) => selector
