import type { LoyaltyProgramme, PointRefusal } from '@waymark/contracts/loyalty'
import { amountDue, type Cart } from '@waymark/domain/coupon'
import { spendPoints } from '@waymark/domain/loyalty'
import {
  findOrderPayments,
  findOrderSpending,
  findProfileIds,
  isReversed,
  readPoints,
  type SpentPoints,
  spendOnOrder,
} from '@waymark/pipeline'
import type { Pool } from 'pg'
import { totalOf } from './cart-payments.ts'
import { type Answer, provisional } from './idempotency-queries.ts'
import { type PlannedPoints, planPoints, type WantedPoints } from './planned-points.ts'
import type { Attempt } from './redemption-refusal.ts'

/** A request that spends points is refused after a change, which must be rolled back. */
export class PointsRefused extends Error {
  readonly refusal: PointRefusal
  constructor(refusal: PointRefusal) {
    super()
    this.refusal = refusal
  }
}

const MESSAGES: Record<PointRefusal, string> = {
  not_spendable: 'The points of this programme cannot be spent now: it is paused, or has no rate',
  insufficient_points: 'The person has too few points',
  minimum_points: 'The order would spend fewer points than the programme requires',
  order_reversed: 'The points of this order were reversed: use another orderId',
  currency_mismatch: 'The points are worth money of another currency',
  secret_key_required: 'Points are spent only with a secret API key: redeem from your server',
}

/** The answer for points that are not spent. A repeat of the request is processed again. */
export const refusedPoints = (reason: PointRefusal): Answer =>
  provisional(409, { error: MESSAGES[reason], reason })

/** The answer for a programme that does not exist. */
export const NO_PROGRAMME = provisional(404, {
  error: 'points.programme is not a loyalty programme of this project',
})

/** What an order spends of the programme of the request, and what points and earlier payments reduce it by, in minor units. */
export type OrderPoints = { spent: (SpentPoints & { planned: PlannedPoints }) | undefined; reduced: number }

/**
 * Spends points on an order that the transaction has locked, of what discounts, earlier points and earlier payments leave. An
 * order that has spent points of the programme does not spend again.
 * @throws PointsRefused
 */
export const spendOrderPoints = async (attempt: Attempt, granted: number): Promise<OrderPoints> => {
  const { client, request, planned, profileId, projectId, programmes, cards, at } = attempt
  const { orderId, cart, amount } = request
  // Nothing is read for projects without programmes.
  if (orderId === null || programmes.length === 0 || (!planned && cards.length === 0))
    return { spent: undefined, reduced: 0 }
  const reversed = await isReversed(client, projectId, orderId)
  if (planned && reversed) throw new PointsRefused('order_reversed')
  const spendings = reversed ? [] : await findOrderSpending(client, projectId, orderId)
  const earlier = spendings.reduce((sum, spending) => sum + spending.amount, 0)
  if (!planned) return { spent: undefined, reduced: earlier }

  const before = spendings.find(({ programmeId }) => programmeId === planned.programme.id)
  const payments = await findOrderPayments(client, projectId, orderId)
  const paid = payments.reduce((sum, { spent, refunded }) => sum + spent - refunded, 0)
  // Gift cards of the request count their earlier payments themselves.
  const paidBefore = cards.length === 0 ? paid : 0
  const profileIds = profileId === null ? [] : await findProfileIds(client, profileId)
  const { id: programmeId } = planned.programme
  if (before) {
    const [points] = await readPoints(client, profileIds, { at, programmeId })
    const spent = { ...before, balance: points?.balance ?? 0, planned }
    return { spent, reduced: earlier + paidBefore }
  }
  const total = cart ? totalOf(cart) : (amount ?? 0)
  const spent = await spendOnOrder(
    client,
    { projectId, programmeId, profileIds },
    {
      orderId,
      rate: planned.rate,
      wanted: planned.wanted,
      due: amountDue(total, [granted, earlier, paid]),
      at,
    },
  )
  if ('refusal' in spent) throw new PointsRefused(spent.refusal)
  return { spent: { ...spent, planned }, reduced: earlier + spent.amount + paidBefore }
}

/** The points of an answer to redeem. */
export const viewPoints = ({ spent }: OrderPoints) => {
  if (!spent) return {}
  const { planned, movementId, points, amount, balance } = spent
  const { programme, rate } = planned
  return {
    points: { programme: programme.key, movementId, points, amount, currency: rate.currency, balance },
  }
}

/** What a cart would spend of points after `discountAmount`, in minor units. Changes nothing. */
export const previewPoints = async (
  db: Pool,
  programmes: readonly LoyaltyProgramme[],
  {
    wanted,
    profileIds,
    cart,
    discountAmount,
    at,
  }: {
    wanted: WantedPoints
    profileIds: readonly string[]
    cart: Cart
    discountAmount: number
    at: Date
  },
) => {
  const planned = planPoints(programmes, wanted, cart.currency)
  const none = { programme: wanted.programme, points: 0, amount: 0, balance: 0 }
  if (!planned) return { ...none, reason: 'not_spendable' as const }
  const id = programmes.find(({ key }) => key === wanted.programme)?.id ?? null
  const [own] = await readPoints(db, profileIds, { at, programmeId: id })
  const balance = own?.balance ?? 0
  const refused = (reason: PointRefusal) => ({ ...none, balance, reason })
  if ('refusal' in planned) return refused(planned.refusal)
  if (balance < (planned.wanted ?? 1)) return refused('insufficient_points')
  const due = amountDue(totalOf(cart), [discountAmount])
  const { points, amount } = spendPoints(planned.rate, planned.wanted ?? balance, due)
  if (points > 0 && points < (planned.rate.minimum ?? 0)) return refused('minimum_points')
  return { programme: wanted.programme, points, amount, balance }
}
