import { hash } from 'node:crypto'
import { AppError } from '@waymark/contracts/app-error'
import { MAX_CARD_BALANCE } from '@waymark/contracts/coupon'
import {
  CardMovementView,
  type CardRefusal,
  getPoolLedger,
  listCardMovements,
  refundGiftCard,
  topUpGiftCard,
  transferGiftCard,
} from '@waymark/contracts/http/gift-cards'
import { pick } from '@waymark/contracts/http/pick'
import { normalizeCode, refusalOf } from '@waymark/domain/coupon'
import { canonicalJson } from '@waymark/domain/json'
import {
  findOrderPayments,
  lockOrderId,
  type Movement,
  refundCard,
  topUpCard,
  transferBetweenCards,
} from '@waymark/pipeline'
import type { Route } from '@waymark/service-kit'
import type { ClientBase } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { pageOf } from '../http/page.ts'
import { requireFound, requireId, unprocessable } from '../http/validation.ts'
import { writeTransaction } from '../http/write-transaction.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { lockMovementKey } from '../movement-key-queries.ts'
import { findCoupon } from './coupons.ts'
import { findCardByCode, type LockedCard, listMovements, lockCards, readLedger } from './gift-card-queries.ts'

/**
 * The movements of a project's gift cards that people make, and the ledger. Locks are taken in the order of a redemption: key
 * or order, then cards by their ids.
 */
export const giftCardRoutes = ({ projectRoute, db, clock }: ManagementDeps): Route[] => {
  const view = (projectId: string, id: string) => findCoupon(db.prisma, projectId, id, clock())

  /** Runs a movement once per key. @throws AppError conflict when the key belongs to another request */
  const once = (
    {
      projectId,
      operation,
      id,
      body,
    }: { projectId: string; operation: string; id: string; body: { key: string } },
    run: (client: ClientBase, key: NonNullable<Movement['key']>) => Promise<void>,
  ): Promise<void> =>
    writeTransaction(db, async (client) => {
      // Clients put ids of people and orders into keys, which an erasure would not find.
      const keyHash = hash('sha256', body.key, 'base64url')
      const requestHash = hash('sha256', canonicalJson({ operation, id, body }), 'base64url')
      const used = await lockMovementKey(client, 'card', projectId, keyHash)
      if (used === undefined) return run(client, { keyHash, requestHash })
      if (used !== requestHash) throw refuse('key_reused')
    })

  return [
    projectRoute(listCardMovements, async ({ projectId, query }) => ({
      body: await pageOf(
        query,
        (_page, part) => listMovements(db.pool, projectId, query, part),
        (movement) => pick(movement, CardMovementView),
      ),
    })),
    projectRoute(getPoolLedger, async ({ projectId, id }) => {
      const where = { id: requireId(id), projectId }
      const pool = requireFound(await db.prisma.couponPool.findFirst({ where }))
      const accounts = await readLedger(db.pool, pool.id)
      const of = (account: string) => accounts.get(account) ?? 0
      const [balance, issued, spent, breakage] = [of('card'), 0 - of('issued'), of('spent'), of('breakage')]
      return {
        body: {
          currency: pool.cardCurrency,
          balance,
          issued,
          spent,
          breakage,
          transferred: balance - issued + spent + breakage,
        },
      }
    }),
    projectRoute(topUpGiftCard, async ({ projectId, id, body }) => {
      requireId(id)
      await once({ projectId, operation: 'top-up', id, body }, async (client, key) => {
        const at = new Date(clock())
        const { amount, reason = null } = body
        const card = requireCard(await lockCards(client, projectId, [id]), id)
        requireOpen(card, at)
        requireRoom(card, amount)
        const movement: Movement = { id: uuidv7(), projectId, kind: 'topped_up', reason, key, at }
        await topUpCard(client, movement, card, amount)
      })
      return { body: await view(projectId, id) }
    }),
    projectRoute(refundGiftCard, async ({ projectId, id, body }) => {
      requireId(id)
      await writeTransaction(db, (client) =>
        refund(client, { projectId, id, ...body, at: new Date(clock()) }),
      )
      return { body: await view(projectId, id) }
    }),
    projectRoute(transferGiftCard, async ({ projectId, id, body }) => {
      requireId(id)
      const code = normalizeCode(body.to)
      const toId = requireFound(code && (await findCardByCode(db.pool, projectId, code)))
      if (toId === id) throw unprocessable('to', 'same', 'is the card itself')
      await once({ projectId, operation: 'transfer', id, body }, async (client, key) => {
        const at = new Date(clock())
        const cards = await lockCards(client, projectId, [id, toId])
        const [from, to] = [requireCard(cards, id), requireCard(cards, toId)]
        const { amount = from.balance, reason = null } = body
        if (from.currency !== to.currency)
          throw unprocessable(
            'to',
            'currency',
            `is a card in ${to.currency}: this one is in ${from.currency}`,
          )
        requireLeavable(from, amount, at)
        requireOpen(to, at)
        requireRoom(to, amount)
        const movement: Movement = { id: uuidv7(), projectId, kind: 'transferred', reason, key, at }
        await transferBetweenCards(client, movement, { from, to }, amount)
      })
      return { body: await view(projectId, id) }
    }),
  ]
}

type Refund = {
  projectId: string
  id: string
  orderId: string
  /** What is refunded in all, in minor units. */
  amount?: number
  reason?: string
  at: Date
}

/** Returns what a card paid for an order. @throws AppError unprocessable for more than that, or less than before */
const refund = async (
  client: ClientBase,
  { projectId, id, orderId, reason, at, ...wanted }: Refund,
): Promise<void> => {
  await lockOrderId(client, projectId, orderId)
  const card = requireCard(await lockCards(client, projectId, [id]), id)
  const payments = await findOrderPayments(client, projectId, orderId)
  const paid = payments.find(({ couponId }) => couponId === id)
  if (!paid) throw unprocessable('orderId', 'unknown', 'is no order that the card paid', orderId)
  const { spent, refunded } = paid
  const { amount: total = spent } = wanted
  if (total > spent)
    throw unprocessable(
      'amount',
      'maximum',
      `must be at most ${spent}, which the card paid for the order`,
      total,
    )
  if (total < refunded)
    throw unprocessable('amount', 'minimum', `must be at least ${refunded}, which was refunded before`, total)
  if (total === refunded) return
  requireOpen(card, at)
  requireRoom(card, total - refunded)
  const movement: Movement = {
    id: uuidv7(),
    projectId,
    kind: 'refunded',
    orderId,
    reason: reason ?? null,
    at,
  }
  await refundCard(client, movement, card, total - refunded)
}

const requireCard = (cards: ReadonlyMap<string, LockedCard>, id: string): LockedCard =>
  requireFound(cards.get(id.toLowerCase()))

/** Money is added to cards that can pay, also to those that a cart holds or that start later. */
const requireOpen = (card: LockedCard, at: Date): void => {
  const refusal = refusalOf({ ...card, pool: { ...card.pool, startsAt: null } }, at.getTime())
  if (refusal === undefined || refusal === 'held') return
  throw refuse(refusal === 'already_redeemed' ? 'revoked' : refusal)
}

/** Money leaves a card until its end, also one that was revoked or whose pool is archived, but not what a cart holds. */
const requireLeavable = (
  { heldUntil = null, balance, pool: { expiresAt } }: LockedCard,
  amount: number,
  at: Date,
) => {
  if (expiresAt !== null && expiresAt <= at) throw refuse('expired')
  if (heldUntil !== null && heldUntil > at) throw refuse('held')
  if (amount > balance || balance === 0) throw refuse('insufficient_balance', `: it holds ${balance}`)
}

const requireRoom = ({ balance }: LockedCard, amount: number): void => {
  if (balance + amount > MAX_CARD_BALANCE)
    throw refuse('balance_limit', `: it holds ${balance}, and at most ${MAX_CARD_BALANCE} are allowed`)
}

const MESSAGES: Record<CardRefusal, string> = {
  revoked: 'The gift card was revoked: transfer its balance to another card',
  expired: 'The gift card has expired, or its pool was archived',
  pool_not_ready: 'The pool of the gift card is not ready',
  held: 'The gift card is held for a cart: release the hold, or wait for its end',
  insufficient_balance: 'The gift card has too little balance',
  balance_limit: 'The gift card would hold too much',
  key_reused: 'The key belongs to another request: send another key',
}

const refuse = (reason: CardRefusal, detail = ''): AppError =>
  new AppError('conflict', `${MESSAGES[reason]}${detail}`, { reason })
