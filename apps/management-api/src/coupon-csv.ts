import { exportCoupons, importCoupons } from '@waymark/contracts'
import type { Platform, Route } from '@waymark/service-kit'
import { exportCodes } from './export-codes.ts'
import { importCodes } from './import-codes.ts'
import type { ProjectRouteFactory } from './project-route.ts'
import { requireFound, requireId, unprocessable } from './validation.ts'

/** Codes of a pool in and out as CSV, as streams. */
export const couponCsvRoutes = ({
  projectRoute,
  db,
}: Pick<Platform, 'db'> & { projectRoute: ProjectRouteFactory }): Route[] => {
  const find = async (projectId: string, id: string) =>
    requireFound(await db.prisma.couponPool.findFirst({ where: { id: requireId(id), projectId } }))

  return [
    projectRoute(importCoupons, async ({ projectId, id, stream }) => {
      const pool = await find(projectId, id)
      if (pool.kind === 'shared') throw unprocessable('id', 'kind', 'a shared pool has one code')
      if (pool.status === 'archived') throw unprocessable('id', 'status', 'the pool is archived')
      return { body: await importCodes(db, pool, stream) }
    }),
    projectRoute(exportCoupons, async ({ projectId, id }) => {
      const pool = await find(projectId, id)
      const fileName = `coupons-${pool.id}.csv`
      return { stream: { type: 'text/csv', fileName, text: exportCodes(db.pool, pool) } }
    }),
  ]
}
