import {
  AppError,
  archiveCouponPool,
  assignCouponOfPool,
  createCouponPool,
  getCouponPool,
  listCouponPools,
  MAX_POOL_SIZE,
  topUpCouponPool,
  updateCouponPool,
} from '@waymark/contracts'
import type { Prisma } from '@waymark/database'
import { displayCode, requireUnguessable } from '@waymark/domain'
import { createAssignCoupon, resolveProfiles } from '@waymark/pipeline'
import type { Platform, Route } from '@waymark/service-kit'
import { newPoolValues, patchedPoolValues } from './coupon-pool-values.ts'
import { createPool } from './create-coupon-pool.ts'
import { pageOf } from './page.ts'
import type { ProjectRouteFactory } from './project-route.ts'
import { requireFound, requireId, unprocessable } from './validation.ts'

const withCount = { count: true } as const
type StoredPool = Prisma.CouponPoolGetPayload<{ include: typeof withCount }>

const NO_COUPON = {
  pool_not_ready: 'The pool has no coupons to give yet',
  expired: 'The coupons of the pool have expired',
  revoked: 'The coupon of this person was revoked',
  exhausted: 'The pool has no coupons left',
}

/** A project's pools of coupons, and giving a person one of them. */
export const couponPoolRoutes = ({
  projectRoute,
  db,
  clock,
}: Pick<Platform, 'db' | 'clock'> & { projectRoute: ProjectRouteFactory }): Route[] => {
  const assignCoupon = createAssignCoupon(db, clock)
  const find = async (projectId: string, id: string): Promise<StoredPool> =>
    requireFound(
      await db.prisma.couponPool.findFirst({ where: { id: requireId(id), projectId }, include: withCount }),
    )

  /** Pools as they are shown: shared ones with their code. */
  const viewAll = async (pools: readonly StoredPool[]) => {
    const shared = pools.filter(({ kind }) => kind === 'shared').map(({ id }) => id)
    const codes =
      shared.length === 0 ? [] : await db.prisma.coupon.findMany({ where: { poolId: { in: shared } } })
    const codeOf = new Map(codes.map((coupon) => [coupon.poolId, coupon]))
    return pools.map(({ projectId: _projectId, count, ...pool }) => {
      const coupon = codeOf.get(pool.id)
      return {
        ...pool,
        code: coupon ? displayCode(coupon, pool.prefix) : null,
        redeemed: count?.redeemed ?? 0,
      }
    })
  }
  const view = async (pool: StoredPool) => (await viewAll([pool]))[0]

  /** Changes a pool with its row locked, since the generator changes it too. */
  const change = async (
    projectId: string,
    id: string,
    values: (pool: StoredPool) => Prisma.CouponPoolUpdateInput,
  ): Promise<StoredPool> =>
    db.prisma.$transaction(async (tx) => {
      await tx.$queryRaw`
        SELECT 1 FROM coupon.pools WHERE id = ${requireId(id)}::uuid AND project_id = ${projectId}::uuid FOR NO KEY UPDATE`
      const pool = requireFound(
        await tx.couponPool.findFirst({ where: { id, projectId }, include: withCount }),
      )
      const data = { ...values(pool), updatedAt: new Date(clock()) }
      return tx.couponPool.update({ where: { id }, data, include: withCount })
    })

  return [
    projectRoute(createCouponPool, async ({ projectId, body }) => {
      const id = await createPool(db, projectId, newPoolValues(body))
      return { status: 201, body: await view(await find(projectId, id)) }
    }),
    projectRoute(listCouponPools, async ({ projectId, query }) => {
      const { data, nextCursor } = await pageOf(
        query,
        (where, take) =>
          db.prisma.couponPool.findMany({
            where: { projectId, ...where },
            orderBy: { id: 'desc' },
            take,
            include: withCount,
          }),
        (pool) => pool,
      )
      return { body: { data: await viewAll(data), nextCursor } }
    }),
    projectRoute(getCouponPool, async ({ projectId, id }) => ({
      body: await view(await find(projectId, id)),
    })),
    projectRoute(updateCouponPool, async ({ projectId, id, body }) => ({
      body: await view(await change(projectId, id, (pool) => patchedPoolValues(pool, body))),
    })),
    projectRoute(archiveCouponPool, async ({ projectId, id }) => {
      await change(projectId, id, ({ archivedAt }) => ({
        status: 'archived',
        archivedAt: archivedAt ?? new Date(clock()),
      }))
      return { status: 204 }
    }),
    projectRoute(topUpCouponPool, async ({ projectId, id, body: { count } }) => {
      const topUp = (pool: StoredPool): Prisma.CouponPoolUpdateInput => {
        if (pool.kind === 'shared') throw unprocessable('count', 'kind', 'a shared pool has one code')
        if (pool.status === 'archived') throw unprocessable('count', 'status', 'the pool is archived')
        const size = pool.size + count
        if (size > MAX_POOL_SIZE)
          throw unprocessable('count', 'maximum', `a pool holds at most ${MAX_POOL_SIZE} codes`)
        requireUnguessable(pool, size)
        return { size, failure: null, status: pool.status === 'ready' ? 'ready' : 'generating' }
      }
      return { body: await view(await change(projectId, id, topUp)) }
    }),
    projectRoute(assignCouponOfPool, async ({ projectId, id, body: { userId = null, visitorId = null } }) => {
      if (userId === null && visitorId === null)
        throw unprocessable('userId', 'required', 'or visitorId is required')
      const pool = await find(projectId, id)
      const [profileId] = await resolveProfiles(db.pool, [{ projectId, userId, visitorId }])
      const assigned = await assignCoupon(projectId, pool.id, profileId ?? '')
      if ('reason' in assigned) {
        const { reason } = assigned
        if (reason === 'not_found') throw new AppError('not_found', 'Not found')
        throw new AppError('conflict', NO_COUPON[reason], { reason })
      }
      const {
        projectId: _projectId,
        display: _display,
        ...coupon
      } = requireFound(await db.prisma.coupon.findUnique({ where: { id: assigned.couponId } }))
      return { body: { ...coupon, code: assigned.code } }
    }),
  ]
}
