import { AppError } from '@waymark/contracts/app-error'
import {
  archiveCouponPool,
  assignCouponOfPool,
  createCouponPool,
  getCouponPool,
  listCouponPools,
  MAX_POOL_SIZE,
  previewCouponPool,
  topUpCouponPool,
  updateCouponPool,
} from '@waymark/contracts/http/coupon-pools'
import { type CouponRules, CouponView, PoolView } from '@waymark/contracts/http/coupon-views'
import { pick } from '@waymark/contracts/http/pick'
import type { Prisma } from '@waymark/database'
import { displayCode } from '@waymark/domain/coupon'
import { createAssignCoupon, resolveProfiles } from '@waymark/pipeline'
import type { Route } from '@waymark/service-kit'
import { inPrisma } from '../http/caller-queries.ts'
import { pageOf } from '../http/page.ts'
import type { ProjectRequest } from '../http/project-route.ts'
import { requireFound, requireId, unprocessable } from '../http/validation.ts'
import { lockRow } from '../lock-queries.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { requireWithinQuota } from '../quotas.ts'
import { createPool, lockCouponQuotas } from './coupon-pool-queries.ts'
import {
  newPoolValues,
  patchedPoolValues,
  requireCountableCards,
  requireUnguessable,
  termsOfPool,
} from './coupon-pool-values.ts'
import { requireSegments } from './pool-segments.ts'
import { previewCart } from './preview-cart.ts'

const withCount = { count: true } as const
type StoredPool = Prisma.CouponPoolGetPayload<{ include: typeof withCount }>

type Counts = Pick<Prisma.TransactionClient, 'coupon' | 'couponHoldItem'>

const NO_COUPON = {
  pool_not_ready: 'The pool has no coupons to give yet',
  expired: 'The coupons of the pool have expired',
  revoked: 'The coupon of this person was revoked',
  exhausted: 'The pool has no coupons left',
}

/** A project's coupon pools, and the assignment of a coupon to a person. */
export const couponPoolRoutes = ({ projectRoute, db, clock, quotas }: ManagementDeps): Route[] => {
  const assignCoupon = createAssignCoupon(db, clock)
  const find = async (projectId: string, id: string): Promise<StoredPool> =>
    requireFound(
      await db.prisma.couponPool.findFirst({ where: { id: requireId(id), projectId }, include: withCount }),
    )

  /** What live holds reserve of pools, by the id of the pool. Those that have ended are still in the counts of the pool. */
  const liveHoldsOf = async (pools: readonly StoredPool[], { couponHoldItem }: Counts) => {
    const ids = pools.filter(({ count }) => count && count.held > 0).map(({ id }) => id)
    if (ids.length === 0) return new Map<string, never>()
    const held = await couponHoldItem.groupBy({
      by: ['poolId'],
      where: { poolId: { in: ids }, expiresAt: { gt: new Date(clock()) } },
      _count: true,
      _sum: { budgetCharge: true },
    })
    return new Map(held.map((one) => [one.poolId, one]))
  }

  /** Pools as they are shown: shared ones with their code. */
  const viewAll = async (pools: readonly StoredPool[], tables: Counts = db.prisma) => {
    const { coupon: coupons } = tables
    const holds = await liveHoldsOf(pools, tables)
    const shared = pools.filter(({ kind }) => kind === 'shared').map(({ id }) => id)
    const codes = shared.length === 0 ? [] : await coupons.findMany({ where: { poolId: { in: shared } } })
    const codeOf = new Map(codes.map((coupon) => [coupon.poolId, coupon]))
    return pools.map((pool) => {
      const coupon = codeOf.get(pool.id)
      const shown = {
        ...pool,
        code: coupon ? displayCode(coupon, pool.prefix) : null,
        redeemed: pool.count?.redeemed ?? 0,
        budgetAmount: termsOfPool(pool).budgetAmount,
        amount: pool.cardAmount === null ? null : Number(pool.cardAmount),
        currency: pool.cardCurrency,
        budgetUsedAmount: Number(pool.count?.granted ?? 0),
        held: holds.get(pool.id)?._count ?? 0,
        budgetHeldAmount: Number(holds.get(pool.id)?._sum.budgetCharge ?? 0),
      }
      return pick(shown, PoolView)
    })
  }
  const view = async (pool: StoredPool, tables?: Counts) => {
    const [shown] = await viewAll([pool], tables)
    return requireFound(shown)
  }

  /** Changes a pool with its row locked, since the generator changes it too. */
  const change = async (
    { projectId, id, requireMatch }: Pick<ProjectRequest, 'projectId' | 'id' | 'requireMatch'>,
    values: (pool: StoredPool, codesOfProject: number) => Prisma.CouponPoolUpdateInput,
    { adds = false, rules }: { adds?: boolean; rules?: CouponRules | null | undefined } = {},
  ): Promise<StoredPool> =>
    db.prisma.$transaction(async (tx) => {
      // Always locked before the row of the pool.
      const codes = adds ? (await lockCouponQuotas(inPrisma(tx), projectId)).codes : 0
      await lockRow(tx, 'coupon.pools', id, 'NO KEY UPDATE')
      const pool = requireFound(
        await tx.couponPool.findFirst({ where: { id, projectId }, include: withCount }),
      )
      requireMatch(await view(pool, tx))
      await requireSegments(tx, projectId, rules)
      const data = { ...values(pool, codes), updatedAt: new Date(clock()) }
      return tx.couponPool.update({ where: { id }, data, include: withCount })
    })

  return [
    projectRoute(createCouponPool, async ({ projectId, body }) => {
      const id = await createPool(db, projectId, newPoolValues(body), quotas)
      return { status: 201, body: await view(await find(projectId, id)) }
    }),
    projectRoute(listCouponPools, async ({ projectId, query }) => {
      const body = await pageOf(
        query,
        async (page) =>
          viewAll(await db.prisma.couponPool.findMany({ ...page({ projectId }), include: withCount })),
        (pool) => pool,
      )
      return { body }
    }),
    projectRoute(getCouponPool, async ({ projectId, id }) => ({
      body: await view(await find(projectId, id)),
    })),
    projectRoute(updateCouponPool, async (request) => ({
      body: await view(
        await change(request, (pool) => patchedPoolValues(pool, request.body), { rules: request.body.rules }),
      ),
    })),
    projectRoute(previewCouponPool, async ({ projectId, id, body }) => {
      const pool = await find(projectId, id)
      if (pool.kind === 'balance')
        throw unprocessable('id', 'kind', 'is a pool of gift cards, which grant no discount')
      const used = Number(pool.count?.granted ?? 0)
      const previewed = { ...pool, ...termsOfPool(pool), used }
      return { body: await previewCart(db, previewed, body, clock()) }
    }),
    projectRoute(archiveCouponPool, async (request) => {
      await change(request, ({ archivedAt }) => ({
        status: 'archived',
        archivedAt: archivedAt ?? new Date(clock()),
      }))
      return { status: 204 }
    }),
    projectRoute(topUpCouponPool, async (request) => {
      const { count } = request.body
      const topUp = (pool: StoredPool, codesOfProject: number): Prisma.CouponPoolUpdateInput => {
        if (pool.kind === 'shared')
          throw unprocessable('count', 'kind', 'is a shared pool, which has only one code')
        if (pool.kind === 'automatic')
          throw unprocessable('count', 'kind', 'is an automatic pool, which has no codes')
        if (pool.status === 'archived') throw unprocessable('count', 'status', 'is an archived pool')
        const size = pool.size + count
        if (size > MAX_POOL_SIZE)
          throw unprocessable('count', 'maximum', `a pool holds at most ${MAX_POOL_SIZE} codes`)
        requireWithinQuota(quotas, 'couponCodes', codesOfProject + count, 'count')
        requireUnguessable(pool, size)
        requireCountableCards(pool.cardAmount, size, 'count')
        return { size, failure: null, status: pool.status === 'ready' ? 'ready' : 'generating' }
      }
      return { body: await view(await change(request, topUp, { adds: true })) }
    }),
    projectRoute(assignCouponOfPool, async ({ projectId, id, body: { userId = null, visitorId = null } }) => {
      if (userId === null && visitorId === null)
        throw unprocessable('userId', 'required', 'or visitorId is required')
      const pool = await find(projectId, id)
      if (pool.kind === 'automatic')
        throw unprocessable('id', 'kind', 'is an automatic pool, which has no codes')
      if (pool.kind === 'balance')
        throw unprocessable('id', 'kind', 'is a pool of gift cards, which belong to whoever has the code')
      const [profileId] = await resolveProfiles(db.pool, [{ projectId, userId, visitorId }])
      const assigned = await assignCoupon(projectId, pool.id, profileId ?? '')
      if ('reason' in assigned) {
        const { reason } = assigned
        if (reason === 'not_found') throw new AppError('not_found', 'Not found')
        throw new AppError('conflict', NO_COUPON[reason], { reason })
      }
      const coupon = requireFound(await db.prisma.coupon.findUnique({ where: { id: assigned.couponId } }))
      return { body: { ...pick({ ...coupon, balance: null }, CouponView), code: assigned.code } }
    }),
  ]
}
