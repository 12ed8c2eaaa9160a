import { currencyOf } from '@waymark/contracts/currency'
import {
  type Budget,
  type CouponRules,
  type Discount,
  MAX_RULES_BYTES,
} from '@waymark/contracts/http/coupon-views'
import { isDeeperThan } from '@waymark/domain/json'
import { logicProblems } from '@waymark/domain/logic'
import { invalid, unprocessable } from '../http/validation.ts'

const MAX_DISCOUNT_DATA_BYTES = 4 * 1024
const MAX_DISCOUNT_DATA_DEPTH = 5

/** What a pool grants: its discount, rules and budget. */
export type PoolTerms = { discount: Discount; rules: CouponRules | null; budgetAmount: Budget | null }

/** Terms as they are stored, with currencies in upper case. @throws AppError unprocessable */
export const storedTerms = ({ discount, rules, budgetAmount }: PoolTerms): PoolTerms => {
  const stored = {
    discount: storedDiscount(discount),
    rules: storedRules(rules),
    budgetAmount: budgetAmount && {
      ...budgetAmount,
      currency: currencyOf(budgetAmount.currency) ?? budgetAmount.currency,
    },
  }
  requireOneCurrency(stored)
  return stored
}

/** All amounts of a pool are in one currency. */
const requireOneCurrency = ({ discount, rules, budgetAmount }: PoolTerms): void => {
  const { currency } = discount
  if (currency !== undefined && budgetAmount !== null && currency !== budgetAmount.currency)
    throw unprocessable(
      'budgetAmount.currency',
      'currency',
      `must be that of the discount, ${currency}`,
      budgetAmount.currency,
    )
  const amount = (['minimumAmount', 'maximumAmount'] as const).find((name) => rules?.[name] !== undefined)
  if (amount !== undefined && currency === undefined && budgetAmount === null)
    throw unprocessable(
      `rules.${amount}`,
      'currency',
      'needs a currency: set discount.currency or budgetAmount',
    )
}

/** Rules without those that are not set; null when there are none. */
const storedRules = (rules: CouponRules | null): CouponRules | null => {
  if (rules === null) return null
  const { minimumAmount = 0, maximumAmount = Number.MAX_SAFE_INTEGER, condition } = rules
  if (minimumAmount > maximumAmount)
    throw unprocessable('rules.maximumAmount', 'order', 'must not be below minimumAmount', maximumAmount)
  if (condition !== undefined) {
    const problems = logicProblems(condition, 'rules.condition', { segments: true })
    if (problems.length > 0) throw invalid(problems)
  }
  const bytes = Buffer.byteLength(JSON.stringify(rules))
  if (bytes > MAX_RULES_BYTES)
    throw unprocessable('rules', 'size', `takes ${bytes} bytes; ${MAX_RULES_BYTES} are allowed`)
  const { firstOrderOnly, ...others } = rules
  const set = { ...others, ...(firstOrderOnly && { firstOrderOnly }) }
  return Object.keys(set).length === 0 ? null : set
}

/** A discount as it is stored, with its currency in upper case. @throws AppError unprocessable */
const storedDiscount = (discount: Discount): Discount => {
  const { type, value, currency, data = {} } = discount
  const refuse = (field: string, rule: string, message: string): never => {
    throw unprocessable(`discount.${field}`, rule, message)
  }
  if (type === 'percent' && (value === undefined || value > 100))
    refuse('value', 'maximum', `must be a percentage from 0 to 100; got ${value ?? 'nothing'}`)
  if (type === 'amount' && value === undefined)
    refuse('value', 'required', 'is required for the type amount: an integer in minor units')
  // Every value that is not a percentage is an amount of money, also for custom types.
  if (type !== 'percent' && value !== undefined) {
    if (!Number.isSafeInteger(value))
      refuse('value', 'type', `must be an integer in minor units; got ${value}`)
    if (currency === undefined)
      refuse(
        'currency',
        'required',
        'is required beside a value that is no percentage, such as EUR; numbers that are no money go into discount.data',
      )
  }
  requireFieldsOfType(discount, refuse)
  if (isDeeperThan(data, MAX_DISCOUNT_DATA_DEPTH))
    refuse('data', 'depth', `is nested deeper than ${MAX_DISCOUNT_DATA_DEPTH} levels`)
  if (Buffer.byteLength(JSON.stringify(data)) > MAX_DISCOUNT_DATA_BYTES)
    refuse('data', 'size', `is larger than ${MAX_DISCOUNT_DATA_BYTES} bytes`)
  const code = currency === undefined ? undefined : currencyOf(currency)
  return { ...discount, ...(code !== undefined && { currency: code }) }
}

type Refuse = (field: string, rule: string, message: string) => never

/** Checks the fields that only some types have. */
const requireFieldsOfType = (discount: Discount, refuse: Refuse): void => {
  const { type, currency, maxAmount } = discount
  if (maxAmount !== undefined) {
    if (type !== 'percent' && type !== 'free_shipping')
      refuse('maxAmount', 'type', 'is only for the types percent and free_shipping')
    if (currency === undefined) refuse('currency', 'required', 'is required beside maxAmount, such as EUR')
  }
  for (const field of ['buyQuantity', 'getQuantity'] as const) {
    if (type === 'buy_x_get_y' && discount[field] === undefined)
      refuse(field, 'required', 'is required for the type buy_x_get_y: an integer from 1 up')
    if (type !== 'buy_x_get_y' && discount[field] !== undefined)
      refuse(field, 'type', 'is only for the type buy_x_get_y')
  }
}
