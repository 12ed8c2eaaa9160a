import {
  archiveMeteringSelector,
  createMeteringSelector,
  getMeteringSelector,
  listMeteringSelectors,
  MAX_SELECTORS_PER_EVENT,
  MeteringSelectorView,
} from '@waymark/contracts/http/metering-selectors'
import { pick } from '@waymark/contracts/http/pick'
import { Prisma } from '@waymark/database'
import type { Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { pageOf } from '../http/page.ts'
import { requireFound, requireId, requireUsableFilter, unprocessable } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { lockQuota, requireConfigurationFits, requireWithinQuota } from '../quotas.ts'

/** The currency property of selectors that name only an amount property, as in common event schemas. */
const DEFAULT_CURRENCY_PROPERTY = 'currency'

type Selector = Prisma.MeteringSelectorGetPayload<object>

/** Which events are conversions. */
export const meteringSelectorRoutes = ({ projectRoute, db, quotas }: ManagementDeps): Route[] => [
  projectRoute(createMeteringSelector, async ({ projectId, body }) => {
    const { eventName, filter = null, ...properties } = body
    const amountProperty = properties.amountProperty ?? null
    if (filter !== null) requireUsableFilter(filter)
    const selector = await db.prisma.$transaction(async (tx) => {
      await lockQuota(tx, projectId, 'meteringSelectors')
      const inUse = await tx.meteringSelector.count({ where: { projectId, archivedAt: null } })
      requireWithinQuota(quotas, 'meteringSelectors', inUse + 1)
      const ofEvent = await tx.meteringSelector.count({ where: { projectId, eventName, archivedAt: null } })
      if (ofEvent >= MAX_SELECTORS_PER_EVENT)
        throw unprocessable(
          'eventName',
          'max_selectors',
          `has ${MAX_SELECTORS_PER_EVENT} metering selectors, which is as many as one event may have; archive one first`,
        )
      await tx.configChange.create({ data: { projectId } })
      const created = await tx.meteringSelector.create({
        data: {
          id: uuidv7(),
          projectId,
          eventName,
          filter: filter === null ? Prisma.DbNull : (filter as Prisma.InputJsonValue),
          amountProperty: amountProperty,
          currencyProperty:
            properties.currencyProperty ?? (amountProperty === null ? null : DEFAULT_CURRENCY_PROPERTY),
          quantityProperty: properties.quantityProperty ?? null,
        },
      })
      await requireConfigurationFits(tx, projectId, quotas)
      return created
    })
    return { status: 201, body: view(selector) }
  }),
  projectRoute(listMeteringSelectors, async ({ projectId, query }) => ({
    body: await pageOf(
      query,
      (page) => db.prisma.meteringSelector.findMany(page({ projectId, archivedAt: null })),
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

const view = (selector: Selector) => pick(selector, MeteringSelectorView)
