import { currencyOf } from '@waymark/contracts/currency'
import type { NewPool, PoolPatch } from '@waymark/contracts/http/coupon-pools'
import type { Budget, CouponRules, Discount } from '@waymark/contracts/http/coupon-views'
import { requireNoProblems } from '@waymark/contracts/require-valid'
import { dateOfTime } from '@waymark/contracts/rfc3339'
import { Prisma } from '@waymark/database'
import {
  alphabetProblems,
  type CodeSpace,
  chosenCode,
  DEFAULT_ALPHABET,
  DEFAULT_CODE_LENGTH,
  drawCodes,
  guessabilityProblems,
} from '@waymark/domain/coupon'
import { unprocessable } from '../http/validation.ts'
import { type PoolTerms, storedTerms } from './coupon-terms.ts'

/** The columns of a new pool, the code of a shared one, and its rules. */
export type PoolValues = {
  pool: Omit<Prisma.CouponPoolUncheckedCreateInput, 'id' | 'projectId' | 'count'>
  code: { code: string; display: string | null } | null
  rules: CouponRules | null
}

const NOT_VALID = 'The request is not valid'

/** @throws AppError unprocessable when `size` codes of a space could be guessed */
export const requireUnguessable = (space: CodeSpace, size: number): void =>
  requireNoProblems(guessabilityProblems(space, size), NOT_VALID)

/** Reads a request to create a pool. @throws AppError unprocessable */
export const newPoolValues = (body: NewPool): PoolValues => {
  const { name, kind, size = 0, prefix = '', length = DEFAULT_CODE_LENGTH } = body
  if (kind !== 'shared' && body.code !== undefined) throw unprocessable('code', 'kind', 'is for shared pools')
  if (kind === 'shared' && size > 1) throw unprocessable('size', 'kind', 'is for unique pools')
  if (kind === 'automatic' && size > 0)
    throw unprocessable('size', 'kind', 'is for unique pools: an automatic one has no codes')
  const alphabet = (body.alphabet ?? DEFAULT_ALPHABET).toUpperCase()
  requireNoProblems(alphabetProblems(alphabet), NOT_VALID)
  const space = { alphabet, length, prefix: prefix.toUpperCase() }
  const card = newCardOf(body)
  requireCountableCards(card.cardAmount, size, 'size')
  const granted = storedTerms({
    discount: card.discount,
    rules: body.rules ?? null,
    budgetAmount: body.budgetAmount ?? null,
  })
  const { rules } = granted
  const terms = termsOf(body)
  requireOrder(terms.startsAt ?? null, terms.expiresAt ?? null)
  const { cardAmount, cardCurrency } = card
  const values = { name, kind, ...space, ...columnsOf(granted), ...terms, cardAmount, cardCurrency }
  if (kind === 'shared') {
    if (body.code === undefined) requireUnguessable(space, 1)
    const code = body.code === undefined ? drawnCode(space) : requireCode(body.code)
    return { pool: { ...values, status: 'ready', size: 1, generated: 1 }, code, rules }
  }
  if (kind === 'automatic') return { pool: { ...values, status: 'ready', size: 0 }, code: null, rules }
  requireUnguessable(space, size)
  return { pool: { ...values, status: size === 0 ? 'draft' : 'generating', size }, code: null, rules }
}

/** What is stored as the discount of gift cards, which grant none. */
const CARD_DISCOUNT: Discount = { type: 'balance' }

/** What a pool grants, or what each of its gift cards holds. @throws AppError unprocessable */
const newCardOf = (body: NewPool) => {
  const { kind, amount, currency, discount } = body
  if (kind !== 'balance') {
    for (const field of ['amount', 'currency'] as const)
      if (body[field] !== undefined) throw unprocessable(field, 'kind', 'is for pools of the kind balance')
    if (discount === undefined) throw unprocessable('discount', 'required', 'is required')
    return { discount, cardAmount: null, cardCurrency: null }
  }
  if (amount === undefined)
    throw unprocessable('amount', 'required', 'is required: what each gift card holds, in minor units')
  if (currency === undefined)
    throw unprocessable('currency', 'required', 'is required: the currency of the gift cards, such as EUR')
  requireNoTerms(body)
  return {
    discount: CARD_DISCOUNT,
    cardAmount: BigInt(amount),
    cardCurrency: currencyOf(currency) ?? currency,
  }
}

/** Gift cards pay and grant nothing, so that terms of discounts do not apply. @throws AppError unprocessable */
const requireNoTerms = (body: PoolPatch): void => {
  if (body.discount !== undefined && body.discount.type !== CARD_DISCOUNT.type)
    throw unprocessable('discount', 'kind', 'is not for gift cards, which pay and grant nothing')
  const { rules, budgetAmount, perProfileLimit, maxRedemptions, stackable, priority } = body
  const terms = { rules, budgetAmount, perProfileLimit, maxRedemptions, stackable, priority }
  const [field] = Object.entries(terms).flatMap(([name, value]) => (value ? [name] : []))
  if (field !== undefined)
    throw unprocessable(field, 'kind', 'is not for gift cards, which pay and grant nothing')
}

/** @throws AppError unprocessable when the cards of a pool amount to more than a JSON number holds exactly */
export const requireCountableCards = (cardAmount: bigint | null, size: number, field: string): void => {
  if (cardAmount !== null && cardAmount * BigInt(size) > BigInt(Number.MAX_SAFE_INTEGER))
    throw unprocessable(
      field,
      'maximum',
      `cards of ${cardAmount} amount to more than ${Number.MAX_SAFE_INTEGER}`,
      size,
    )
}

/** Reads a request to change a pool. @throws AppError unprocessable */
export const patchedPoolValues = (pool: PatchedPool, change: PoolPatch): Prisma.CouponPoolUpdateInput => {
  if (pool.kind === 'balance') requireNoTerms(change)
  const { name, discount, rules, budgetAmount, ...patch } = change
  const terms = termsOf(patch)
  const { startsAt = pool.startsAt, expiresAt = pool.expiresAt } = terms
  requireOrder(startsAt, expiresAt)
  return {
    ...(name !== undefined && { name }),
    // What earlier versions accepted must not keep a pool from getting another name, time or limit.
    ...((discount !== undefined || rules !== undefined || budgetAmount !== undefined) &&
      patchedGrant(pool, change)),
    ...terms,
  }
}

/** The columns of what a pool grants, checked together with what does not change. @throws AppError unprocessable */
const patchedGrant = (pool: PatchedPool, { discount, rules, budgetAmount }: PoolPatch) => {
  const current = termsOfPool(pool)
  const granted = storedTerms({
    discount: discount ?? current.discount,
    rules: rules === undefined ? current.rules : rules,
    budgetAmount: budgetAmount === undefined ? current.budgetAmount : budgetAmount,
  })
  requireSameBudgetCurrency(pool, granted.budgetAmount)
  return columnsOf(granted)
}

/** A stored pool, as far as a change depends on it. */
export type PatchedPool = {
  kind: string
  startsAt: Date | null
  expiresAt: Date | null
  discount: Prisma.JsonValue
  rules: Prisma.JsonValue
  budgetAmount: bigint | null
  budgetCurrency: string | null
  count: { granted: bigint } | null
}

/** The terms of a stored pool. */
export const termsOfPool = ({
  discount,
  rules,
  budgetAmount,
  budgetCurrency,
}: Pick<PatchedPool, 'discount' | 'rules' | 'budgetAmount' | 'budgetCurrency'>): PoolTerms => ({
  discount: discount as Discount,
  rules: rules as CouponRules | null,
  budgetAmount:
    budgetAmount === null || budgetCurrency === null
      ? null
      : { amount: Number(budgetAmount), currency: budgetCurrency },
})

/** @throws AppError unprocessable when amounts that were granted are in another currency */
const requireSameBudgetCurrency = ({ budgetCurrency, count }: PatchedPool, budget: Budget | null): void => {
  if (budget === null || budgetCurrency === null || budget.currency === budgetCurrency) return
  if ((count?.granted ?? 0n) === 0n) return
  throw unprocessable(
    'budgetAmount.currency',
    'currency',
    `must stay ${budgetCurrency}, in which discounts were granted`,
    budget.currency,
  )
}

const columnsOf = ({ discount, rules, budgetAmount }: PoolTerms) => ({
  discount: discount as Prisma.InputJsonObject,
  rules: rules === null ? Prisma.DbNull : (rules as Prisma.InputJsonObject),
  budgetAmount: budgetAmount === null ? null : BigInt(budgetAmount.amount),
  ...(budgetAmount !== null && { budgetCurrency: budgetAmount.currency }),
})

type Terms = Pick<
  NewPool,
  'startsAt' | 'expiresAt' | 'perProfileLimit' | 'maxRedemptions' | 'stackable' | 'priority'
>

const termsOf = ({ startsAt, expiresAt, perProfileLimit, maxRedemptions, stackable, priority }: Terms) => ({
  ...(startsAt !== undefined && { startsAt: timeOf(startsAt) }),
  ...(expiresAt !== undefined && { expiresAt: timeOf(expiresAt) }),
  ...(perProfileLimit !== undefined && { perProfileLimit }),
  ...(maxRedemptions !== undefined && { maxRedemptions }),
  ...(stackable !== undefined && { stackable }),
  ...(priority !== undefined && { priority }),
})

const timeOf = (text: string | null): Date | null => (text === null ? null : dateOfTime(text))

const requireOrder = (startsAt: Date | null, expiresAt: Date | null): void => {
  if (startsAt !== null && expiresAt !== null && startsAt >= expiresAt)
    throw unprocessable('expiresAt', 'order', 'must be after startsAt', expiresAt.toISOString())
}

const drawnCode = (space: Parameters<typeof drawCodes>[0]) => {
  const [code = ''] = drawCodes(space, 1)
  return { code, display: null }
}

const requireCode = (text: string) => {
  const chosen = chosenCode(text)
  if (!chosen)
    throw unprocessable('code', 'characters', 'must be 3 to 64 letters A to Z, digits, _ and ., and dashes')
  return chosen
}
