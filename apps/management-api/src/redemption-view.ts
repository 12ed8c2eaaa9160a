import type { Prisma } from '@waymark/database'

/** A redemption as it is shown. Amounts fit a JSON number: only such are taken. */
export const viewRedemption = (
  { projectId: _projectId, amount, ...redemption }: Prisma.CouponRedemptionGetPayload<object>,
  code: string,
) => ({ ...redemption, code, amount: amount === null ? null : Number(amount) })
