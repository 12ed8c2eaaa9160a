import type { CouponRules } from '@waymark/contracts/http/coupon-views'
import { Prisma } from '@waymark/database'
import { segmentsIn } from '@waymark/domain/decision'
import { lockDecisions } from '../decisions/decision-rows.ts'
import { unprocessable } from '../http/validation.ts'
import { readSegments } from '../segments/segment-rows.ts'

/**
 * Checks that the segments of a pool's condition exist, and keeps them until the transaction ends.
 * @throws AppError unprocessable
 */
export const requireSegments = async (
  tx: Prisma.TransactionClient,
  projectId: string,
  rules: Pick<CouponRules, 'condition'> | null | undefined,
): Promise<void> => {
  const keys = segmentsIn(rules?.condition)
  if (keys.length === 0) return
  await lockDecisions(tx, projectId)
  const known = new Set((await readSegments(tx, projectId, keys)).map(({ key }) => key))
  const unknown = keys.find((key) => !known.has(key))
  if (unknown !== undefined)
    throw unprocessable(
      'rules.condition',
      'segment',
      `refers to the segment ${unknown}, which is not a segment of this project`,
    )
}

/** The names of the pools whose condition refers to a segment, without archived ones. */
export const poolsWithSegment = async (
  { couponPool }: Pick<Prisma.TransactionClient, 'couponPool'>,
  projectId: string,
  segmentKey: string,
): Promise<string[]> => {
  const pools = await couponPool.findMany({
    where: { projectId, archivedAt: null, rules: { not: Prisma.DbNull } },
    select: { name: true, rules: true },
  })
  return pools
    .filter(({ rules }) => segmentsIn((rules as CouponRules).condition).includes(segmentKey))
    .map(({ name }) => name)
    .sort()
}
