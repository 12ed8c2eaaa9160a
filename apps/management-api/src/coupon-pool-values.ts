import { dateOfTime, type NewPool, type PoolPatch } from '@waymark/contracts'
import type { Prisma } from '@waymark/database'
import {
  DEFAULT_ALPHABET,
  DEFAULT_CODE_LENGTH,
  drawCodes,
  isDeeperThan,
  normalizeCode,
  requireUnguessable,
  requireUsableAlphabet,
} from '@waymark/domain'
import { unprocessable } from './validation.ts'

const MAX_DISCOUNT_DATA_BYTES = 4 * 1024
const MAX_DISCOUNT_DATA_DEPTH = 5

/** What a new pool is stored as, and the code of a shared one. */
export type PoolValues = {
  pool: Omit<Prisma.CouponPoolUncheckedCreateInput, 'id' | 'projectId'>
  code: { code: string; display: string | null } | null
}

/** Reads a request to create a pool. @throws AppError unprocessable */
export const newPoolValues = (body: NewPool): PoolValues => {
  const { name, kind, size = 0, prefix = '', length = DEFAULT_CODE_LENGTH } = body
  if (kind === 'unique' && body.code !== undefined) throw unprocessable('code', 'kind', 'is for shared pools')
  if (kind === 'shared' && size > 1) throw unprocessable('size', 'kind', 'is for unique pools')
  const alphabet = requireUsableAlphabet(body.alphabet ?? DEFAULT_ALPHABET)
  const space = { alphabet, length, prefix: prefix.toUpperCase() }
  requireDiscount(body.discount)
  const terms = termsOf(body)
  requireOrder(terms.startsAt ?? null, terms.expiresAt ?? null)
  const values = { name, kind, ...space, discount: body.discount as Prisma.InputJsonObject, ...terms }
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
  if (discount) requireDiscount(discount)
  const terms = termsOf(patch)
  const { startsAt = pool.startsAt, expiresAt = pool.expiresAt } = terms
  requireOrder(startsAt, expiresAt)
  return {
    ...(name !== undefined && { name }),
    ...(discount && { discount: discount as Prisma.InputJsonObject }),
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
    throw unprocessable('expiresAt', 'order', 'must be after startsAt')
}

const requireDiscount = ({ type, value, currency, data = {} }: NewPool['discount']): void => {
  const refuse = (field: string, rule: string, message: string): never => {
    throw unprocessable(`discount.${field}`, rule, message)
  }
  if (type === 'percent' && (value === undefined || value > 100))
    refuse('value', 'maximum', 'must be a percentage of at most 100')
  if (type === 'amount' && !Number.isSafeInteger(value))
    refuse('value', 'type', 'must be an integer in minor units')
  if (type === 'amount' && currency === undefined) refuse('currency', 'required', 'is required')
  if (isDeeperThan(data, MAX_DISCOUNT_DATA_DEPTH))
    refuse('data', 'depth', `is nested deeper than ${MAX_DISCOUNT_DATA_DEPTH} levels`)
  if (Buffer.byteLength(JSON.stringify(data)) > MAX_DISCOUNT_DATA_BYTES)
    refuse('data', 'size', `is larger than ${MAX_DISCOUNT_DATA_BYTES} bytes`)
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
