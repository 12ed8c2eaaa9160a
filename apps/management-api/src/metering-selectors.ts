import { compileValidator } from '@waymark/contracts'
import { Prisma } from '@waymark/database'
import { requireUsableFilter } from '@waymark/domain'
import type { Platform, Route } from '@waymark/service-kit'
import { Type } from 'typebox'
import { v7 as uuidv7 } from 'uuid'
import { pageOf, parsePage } from './page.ts'
import { projectRoute } from './project-route.ts'
import { requireFound, requireId, requireValid } from './validation.ts'

const propertyPath = Type.Optional(Type.String({ minLength: 1, maxLength: 200 }))

const NewSelector = Type.Object({
  eventName: Type.String({ minLength: 1, maxLength: 200 }),
  filter: Type.Optional(Type.Unknown()),
  amountProperty: propertyPath,
  currencyProperty: propertyPath,
  quantityProperty: propertyPath,
})
const newSelector = compileValidator(NewSelector)

type Selector = Prisma.MeteringSelectorGetPayload<object>

/** Which events are conversions. */
export const meteringSelectorRoutes = ({ apiKeys, db }: Pick<Platform, 'apiKeys' | 'db'>): Route[] => [
  projectRoute(apiKeys, {
    method: 'post',
    path: 'metering-selectors',
    scope: 'manage:write',
    answer: async ({ projectId, body }) => {
      const { eventName, filter = null, ...properties } = requireValid(newSelector, body)
      if (filter !== null) requireUsableFilter(filter)
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
    },
  }),
  projectRoute(apiKeys, {
    method: 'get',
    path: 'metering-selectors',
    scope: 'manage:read',
    answer: async ({ projectId, query }) => ({
      body: await pageOf(
        parsePage(query),
        (where, take) =>
          db.prisma.meteringSelector.findMany({
            where: { projectId, archivedAt: null, ...where },
            orderBy: { id: 'desc' },
            take,
          }),
        view,
      ),
    }),
  }),
  projectRoute(apiKeys, {
    method: 'delete',
    path: 'metering-selectors/:id',
    scope: 'manage:write',
    answer: async ({ projectId, id }) => {
      await db.prisma.$transaction(async (tx) => {
        const where = { id: requireId(id), projectId, archivedAt: null }
        requireFound(await tx.meteringSelector.findFirst({ where }))
        await tx.meteringSelector.update({ where: { id }, data: { archivedAt: new Date() } })
        await tx.configChange.create({ data: { projectId } })
      })
      return { status: 204 }
    },
  }),
]

const view = ({ projectId: _projectId, archivedAt: _archivedAt, ...selector }: Selector) => selector
