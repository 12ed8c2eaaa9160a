import type { Readable } from 'node:stream'
import { amountOfDecimal, decimalOf } from '@waymark/contracts/amount-text'
import { AppError } from '@waymark/contracts/app-error'
import { MAX_CARD_BALANCE } from '@waymark/contracts/coupon'
import {
  exportCoupons,
  importCoupons,
  MAX_POOL_SIZE,
  MAX_REPORTED_LINES,
} from '@waymark/contracts/http/coupon-pools'
import type { Database } from '@waymark/database'
import { chosenCode, displayCode } from '@waymark/domain/coupon'
import { COUPON_COLUMNS, GIFT_CARD_COLUMNS } from '@waymark/domain/table'
import { csvField, withBom } from '@waymark/event-files'
import { insertCoupons, issueCards } from '@waymark/pipeline'
import type { Route } from '@waymark/service-kit'
import type { Pool } from 'pg'
import { inClient } from '../http/caller-queries.ts'
import { requireFound, requireId, unprocessable } from '../http/validation.ts'
import { whileAllowed } from '../http/while-allowed.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { type Quotas, requireWithinQuota } from '../quotas.ts'
import {
  type ExportedCoupon,
  growPool,
  lockPoolSize,
  markPoolReady,
  readCouponsAfter,
} from './coupon-csv-queries.ts'
import { linesOf } from './coupon-lines.ts'
import { lockCouponQuotas } from './coupon-pool-queries.ts'

/** Imports and exports the codes of a pool as CSV streams. */
export const couponCsvRoutes = ({
  projectRoute,
  exports,
  db,
  quotas,
  steadyClock,
}: ManagementDeps): Route[] => {
  const find = async (projectId: string, id: string) =>
    requireFound(await db.prisma.couponPool.findFirst({ where: { id: requireId(id), projectId } }))

  return [
    projectRoute(importCoupons, async ({ projectId, id, stream, allowAgain }) => {
      const pool = await find(projectId, id)
      if (pool.kind === 'shared')
        throw unprocessable('id', 'kind', 'is a shared pool, which has only one code')
      if (pool.kind === 'automatic')
        throw unprocessable('id', 'kind', 'is an automatic pool, which has no codes')
      if (pool.status === 'archived') throw unprocessable('id', 'status', 'is an archived pool')
      return { body: await importCodes(db, { ...pool, card: cardOf(pool) }, stream, quotas, allowAgain) }
    }),
    projectRoute(
      exportCoupons,
      exports(async ({ projectId, id, query: { bom }, allowAgain }) => {
        const pool = await find(projectId, id)
        const codes = whileAllowed(
          exportCodes(db.pool, { ...pool, card: cardOf(pool) }),
          allowAgain,
          steadyClock,
        )
        return {
          headers: { 'Content-Disposition': `attachment; filename=coupons-${pool.id}.csv` },
          type: 'text/csv; charset=utf-8',
          stream: bom ? withBom(codes) : codes,
        }
      }),
    ),
  ]
}

/** Codes per write of an import. */
const CHUNK = 5_000
/** Coupons per read of an export: more would delay other requests. */
const READ_AT_ONCE = 500
const HEADER = 'code,status,assignedProfileId,redeemedAt,revokedAt,createdAt'

/** What each new gift card of a pool holds, in minor units, and its currency; null for other pools. */
type NewCard = { amount: number; currency: string } | null

/** What each new gift card of a stored pool holds. */
const cardOf = ({
  cardAmount,
  cardCurrency,
}: {
  cardAmount: bigint | null
  cardCurrency: string | null
}): NewCard =>
  cardAmount === null || cardCurrency === null ? null : { amount: Number(cardAmount), currency: cardCurrency }

/** All coupons of a pool as CSV. Each chunk is read when the one before has been sent. */
export async function* exportCodes(
  db: Pool,
  { id: poolId, prefix, card = null }: { id: string; prefix: string; card?: NewCard },
): AsyncGenerator<string> {
  yield card ? `${HEADER},balance,currency\n` : `${HEADER}\n`
  for (let last: string | undefined; ; ) {
    const coupons = await readCouponsAfter(db, poolId, last, READ_AT_ONCE)
    if (coupons.length > 0) yield coupons.map((coupon) => lineOf(coupon, prefix, card)).join('')
    last = coupons.at(-1)?.id
    if (last === undefined || coupons.length < READ_AT_ONCE) return
  }
}

const lineOf = (row: ExportedCoupon, prefix: string, card: NewCard): string => {
  const times = [row.redeemed_at, row.revoked_at, row.created_at].map((time) => time?.toISOString() ?? '')
  const money = card ? [decimalOf(row.balance, card.currency), card.currency] : []
  const cells = [displayCode(row, prefix), row.status, row.assigned_profile_id ?? '', ...times, ...money]
  return `${cells.map(csvField).join(',')}\n`
}

/** A line that was not imported, and why. */
type RefusedLine = { line: number; code: string; reason: string }
type ImportResult = { imported: number; duplicates: number; invalid: number; errors: RefusedLine[] }

type Line = { line: number; code: string; display: string; amount: number }
type PoolId = { id: string; projectId: string; card?: NewCard }

const SAMPLE_LENGTH = 80

/**
 * Imports codes from CSV as it arrives, one transaction and at most `CHUNK` codes in memory at a time. If the stream
 * breaks off, or `allowAgain` refuses the caller, earlier chunks stay imported and the pool stays a draft.
 * @throws AppError unprocessable when the pool has been archived, the pool or the project would have too many codes, or it
 * is not clear which column has them
 */
export const importCodes = async (
  db: Pick<Database, 'transaction' | 'pool'>,
  pool: PoolId,
  csv: Readable,
  quotas: Quotas,
  allowAgain: () => Promise<unknown> = async () => {},
): Promise<ImportResult> => {
  const result: ImportResult = { imported: 0, duplicates: 0, invalid: 0, errors: [] }
  const refuse = (line: number, text: string, reason: string): void => {
    const code = text.slice(0, SAMPLE_LENGTH).toWellFormed()
    if (result.errors.length < MAX_REPORTED_LINES) result.errors.push({ line, code, reason })
  }
  const refuseInvalid = (line: number, text: string, reason: string): void => {
    result.invalid++
    refuse(line, text, reason)
  }

  const store = async (lines: readonly Line[]): Promise<void> => {
    const byCode = new Map<string, Line>()
    // The client decides how long it sends.
    await allowAgain()
    const repeated = lines.filter((line) => byCode.has(line.code) || !byCode.set(line.code, line))
    const inserted = new Set(await insertChunk(db, pool, [...byCode.values()], quotas))
    const known = [...byCode.values()].filter(({ code }) => !inserted.has(code))
    result.imported += inserted.size
    result.duplicates += repeated.length + known.length
    for (const { line, display } of [...repeated, ...known]) refuse(line, display, 'is a duplicate')
  }

  let chunk: Line[] = []
  const { card = null } = pool
  for await (const { line, field, balance } of linesOf(
    csv,
    card ? GIFT_CARD_COLUMNS : COUPON_COLUMNS,
    refuseInvalid,
  )) {
    const text = field ?? ''
    const chosen = chosenCode(text)
    const amount = card ? balanceOf(balance, card) : 0
    if (chosen === undefined)
      refuseInvalid(line, text, 'is not 3 to 64 letters A to Z, digits, _ and ., and dashes')
    else if (amount === undefined)
      refuseInvalid(line, text, `has a balance of ${balance}, which is not an amount such as 25.00`)
    else chunk.push({ line, ...chosen, amount })
    if (chunk.length === CHUNK) {
      await store(chunk)
      chunk = []
    }
  }
  await store(chunk)
  await markPoolReady(db.pool, pool.id)
  result.errors.sort((a, b) => a.line - b.line)
  return result
}

/** The balance of an imported card in minor units; undefined when it is no such amount. */
const balanceOf = (text: string | undefined, card: NonNullable<NewCard>): number | undefined => {
  if (text === undefined || text.trim() === '') return card.amount
  const amount = amountOfDecimal(text, card.currency)
  return amount !== undefined && amount <= MAX_CARD_BALANCE ? amount : undefined
}

const insertChunk = (
  db: Pick<Database, 'transaction'>,
  pool: PoolId,
  lines: readonly Line[],
  quotas: Quotas,
): Promise<string[]> =>
  db.transaction(async (client) => {
    if (lines.length === 0) return []
    const used = await lockCouponQuotas(inClient(client), pool.projectId)
    const size = await lockPoolSize(client, pool.id)
    if (size === undefined) throw new AppError('unprocessable', 'The pool was archived meanwhile')
    if (size + lines.length > MAX_POOL_SIZE)
      throw new AppError('unprocessable', `A pool holds at most ${MAX_POOL_SIZE} codes`)
    const inserted = await insertCoupons(client, pool, lines)
    requireWithinQuota(quotas, 'couponCodes', used.codes + inserted.length)
    await growPool(client, pool.id, inserted.length)
    if (pool.card) {
      const isNew = new Set(inserted)
      const issued = lines.filter(({ code }) => isNew.has(code))
      await issueCards(client, { ...pool, currency: pool.card.currency }, issued, new Date())
    }
    return inserted
  })
