import {
  currencyOf,
  type Discount,
  dateOfTime,
  type NewPool,
  type PoolPatch,
  requireNoProblems,
} from '@waymark/contracts'
import type { Prisma } from '@waymark/database'
import {
  alphabetProblems,
  type CodeSpace,
  DEFAULT_ALPHABET,
  DEFAULT_CODE_LENGTH,
  drawCodes,
  guessabilityProblems,
  isDeeperThan,
  normalizeCode,
} from '@waymark/domain'
import { unprocessable } from '../http/validation.ts'

const MAX_DISCOUNT_DATA_BYTES = 4 * 1024
const MAX_DISCOUNT_DATA_DEPTH = 5

/** The columns of a new pool, and the code of a shared one. */
export type PoolValues = {
  pool: Omit<Prisma.CouponPoolUncheckedCreateInput, 'id' | 'projectId'>
  code: { code: string; display: string | null } | null
}

const NOT_VALID = 'The request is not valid'

/** @throws AppError unprocessable when `size` codes of a space could be guessed */
export const requireUnguessable = (space: CodeSpace, size: number): void =>
  requireNoProblems(guessabilityProblems(space, size), NOT_VALID)

/** Reads a request to create a pool. @throws AppError unprocessable */
export const newPoolValues = (body: NewPool): PoolValues => {
  const { name, kind, size = 0, prefix = '', length = DEFAULT_CODE_LENGTH } = body
  if (kind === 'unique' && body.code !== undefined) throw unprocessable('code', 'kind', 'is for shared pools')
  if (kind === 'shared' && size > 1) throw unprocessable('size', 'kind', 'is for unique pools')
  const alphabet = (body.alphabet ?? DEFAULT_ALPHABET).toUpperCase()
  requireNoProblems(alphabetProblems(alphabet), NOT_VALID)
  const space = { alphabet, length, prefix: prefix.toUpperCase() }
  const discount = storedDiscount(body.discount)
  const terms = termsOf(body)
  requireOrder(terms.startsAt ?? null, terms.expiresAt ?? null)
  const values = { name, kind, ...space, discount, ...terms }
  if (kind === 'shared') {
    if (body.code === undefined) requireUnguessable(space, 1)
    const code = body.code === undefined ? drawnCode(space) : chosenCode(body.code)
    return { pool: { ...values, status: 'ready', size: 1, generated: 1 }, code }
  }
  requireUnguessable(space, size)
  return { pool: { ...values, status: size === 0 ? 'draft' : 'generating', size }, code: null }
}

/** Reads a request to change a pool. @throws AppError unprocessable */
export const patchedPoolValues = (
  pool: { startsAt: Date | null; expiresAt: Date | null },
  { name, discount, ...patch }: PoolPatch,
): Prisma.CouponPoolUpdateInput => {
  const terms = termsOf(patch)
  const { startsAt = pool.startsAt, expiresAt = pool.expiresAt } = terms
  requireOrder(startsAt, expiresAt)
  return {
    ...(name !== undefined && { name }),
    ...(discount && { discount: storedDiscount(discount) }),
    ...terms,
  }
}

type Terms = Pick<NewPool, 'startsAt' | 'expiresAt' | 'perProfileLimit' | 'maxRedemptions'>

const termsOf = ({ startsAt, expiresAt, perProfileLimit, maxRedemptions }: Terms) => ({
  ...(startsAt !== undefined && { startsAt: timeOf(startsAt) }),
  ...(expiresAt !== undefined && { expiresAt: timeOf(expiresAt) }),
  ...(perProfileLimit !== undefined && { perProfileLimit }),
  ...(maxRedemptions !== undefined && { maxRedemptions }),
})

const timeOf = (text: string | null): Date | null => (text === null ? null : dateOfTime(text))

const requireOrder = (startsAt: Date | null, expiresAt: Date | null): void => {
  if (startsAt !== null && expiresAt !== null && startsAt >= expiresAt)
    throw unprocessable('expiresAt', 'order', 'must be after startsAt', expiresAt.toISOString())
}

/** A discount as it is stored, with its currency in upper case. @throws AppError unprocessable */
const storedDiscount = (discount: Discount): Prisma.InputJsonObject => {
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
  if (isDeeperThan(data, MAX_DISCOUNT_DATA_DEPTH))
    refuse('data', 'depth', `is nested deeper than ${MAX_DISCOUNT_DATA_DEPTH} levels`)
  if (Buffer.byteLength(JSON.stringify(data)) > MAX_DISCOUNT_DATA_BYTES)
    refuse('data', 'size', `is larger than ${MAX_DISCOUNT_DATA_BYTES} bytes`)
  const code = currency === undefined ? undefined : currencyOf(currency)
  return { ...discount, ...(code !== undefined && { currency: code }) } as Prisma.InputJsonObject
}

const drawnCode = (space: Parameters<typeof drawCodes>[0]) => {
  const [code = ''] = drawCodes(space, 1)
  return { code, display: null }
}

const chosenCode = (text: string) => {
  const code = normalizeCode(text)
  if (code === undefined)
    throw unprocessable('code', 'characters', 'must be 3 to 64 letters A to Z, digits, _ and ., and dashes')
  return { code, display: text.trim().toUpperCase() }
}
