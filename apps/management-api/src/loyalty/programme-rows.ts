import { currencyOf } from '@waymark/contracts/currency'
import type { ProgrammePatch } from '@waymark/contracts/http/loyalty'
import type { EarningRule, SpendingRate, Tier } from '@waymark/contracts/loyalty'
import { Prisma } from '@waymark/database'
import { lockDecisions } from '../decisions/decision-rows.ts'
import { unprocessable } from '../http/validation.ts'
import { readSegments } from '../segments/segment-rows.ts'

type Transaction = Prisma.TransactionClient

/** A stored loyalty programme. */
export type ProgrammeRow = Prisma.LoyaltyProgrammeGetPayload<object>

/** The terms of a request that were checked, with currencies in upper case. Absent terms stay as they are. */
export const checkedTerms = async (
  tx: Transaction,
  projectId: string,
  { name, status, rules, expiryMonths, spending, tiers }: ProgrammePatch,
) => {
  if (tiers !== undefined) await requireTiers(tx, projectId, tiers)
  return {
    ...(name !== undefined && { name }),
    ...(status !== undefined && { status }),
    ...(rules !== undefined && { rules: await checkedRules(tx, projectId, rules) }),
    ...(expiryMonths !== undefined && { expiryMonths }),
    ...(spending !== undefined && { spending: spending === null ? Prisma.DbNull : upperCurrency(spending) }),
    ...(tiers !== undefined && { tiers: tiers.map((tier) => ({ ...tier })) }),
  }
}

const upperCurrency = <T extends SpendingRate | EarningRule>(term: T): T =>
  term.currency === undefined ? term : { ...term, currency: currencyOf(term.currency) ?? term.currency }

/** @throws AppError unprocessable when a rule cannot earn points */
const checkedRules = async (
  tx: Transaction,
  projectId: string,
  rules: readonly EarningRule[],
): Promise<EarningRule[]> => {
  const ids = rules.map(({ selectorId }) => selectorId.toLowerCase())
  const selectors = await tx.meteringSelector.findMany({
    where: { projectId, archivedAt: null, id: { in: ids } },
    select: { id: true, amountProperty: true },
  })
  const amountOf = new Map(selectors.map(({ id, amountProperty }) => [id, amountProperty]))
  return rules.map((rule, index) => {
    const selectorId = rule.selectorId.toLowerCase()
    const amountProperty = amountOf.get(selectorId)
    const field = `rules.${index}`
    if (amountProperty === undefined)
      throw unprocessable(
        `${field}.selectorId`,
        'selector',
        'is not a metering selector of this project',
        selectorId,
      )
    if ((rule.perAmount === undefined) !== (rule.currency === undefined))
      throw unprocessable(field, 'required', 'must have perAmount and currency, or neither')
    if (rule.perAmount !== undefined && amountProperty === null)
      throw unprocessable(`${field}.perAmount`, 'amount', 'needs a metering selector with an amountProperty')
    return upperCurrency({ ...rule, selectorId })
  })
}

/** Checks tiers, and keeps their segments until the transaction ends. @throws AppError unprocessable */
const requireTiers = async (tx: Transaction, projectId: string, tiers: readonly Tier[]): Promise<void> => {
  const keys = new Set<string>()
  let last = -1
  for (const [index, { key, points, segment }] of tiers.entries()) {
    const field = `tiers.${index}`
    if (keys.has(key)) throw unprocessable(`${field}.key`, 'unique', 'occurs twice', key)
    keys.add(key)
    if ((points === undefined) === (segment === undefined))
      throw unprocessable(field, 'exclusive', 'must have either points or segment')
    if (points !== undefined && points <= last)
      throw unprocessable(`${field}.points`, 'order', `must be more than the ${last} of a lower tier`, points)
    last = points ?? last
  }
  const wanted = tiers.flatMap(({ segment }) => segment ?? [])
  if (wanted.length === 0) return
  await lockDecisions(tx, projectId)
  const known = new Set((await readSegments(tx, projectId, wanted)).map(({ key }) => key))
  const unknown = tiers.findIndex(({ segment }) => segment !== undefined && !known.has(segment))
  if (unknown >= 0)
    throw unprocessable(
      `tiers.${unknown}.segment`,
      'segment',
      'is not a segment of this project',
      tiers[unknown]?.segment,
    )
}

/** The keys of the programmes with a tier for a segment, without archived ones. */
export const programmesWithSegment = async (
  { loyaltyProgramme }: Pick<Transaction, 'loyaltyProgramme'>,
  projectId: string,
  segmentKey: string,
): Promise<string[]> => {
  const rows = await loyaltyProgramme.findMany({ where: { projectId, status: { not: 'archived' } } })
  return rows
    .filter(({ tiers }) => tiersOf(tiers).some(({ segment }) => segment === segmentKey))
    .map(({ key }) => key)
    .sort()
}

/** The tiers of a stored programme. */
export const tiersOf = (tiers: Prisma.JsonValue): readonly Tier[] => tiers as unknown as readonly Tier[]
