import { AppError } from '@waymark/contracts/app-error'
import {
  archiveLoyaltyProgramme,
  createLoyaltyProgramme,
  getLoyaltyLedger,
  getLoyaltyProgramme,
  listLoyaltyProgrammes,
  ProgrammeView,
  updateLoyaltyProgramme,
} from '@waymark/contracts/http/loyalty'
import { pick } from '@waymark/contracts/http/pick'
import type { Prisma } from '@waymark/database'
import type { Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { pageOf } from '../http/page.ts'
import { requireFound, unprocessable } from '../http/validation.ts'
import { lockRow } from '../lock-queries.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { lockQuota, requireWithinQuota } from '../quotas.ts'
import { readLedger } from './point-queries.ts'
import { checkedTerms, type ProgrammeRow } from './programme-rows.ts'

type Tables = Pick<Prisma.TransactionClient, 'loyaltyProgramme'>

/** A programme by its key, also an archived one. @throws AppError not_found */
export const findProgramme = async (
  { loyaltyProgramme }: Tables,
  projectId: string,
  key: string,
): Promise<ProgrammeRow> =>
  requireFound(await loyaltyProgramme.findUnique({ where: { projectId_key: { projectId, key } } }))

/** A project's loyalty programmes. */
export const programmeRoutes = ({ projectRoute, db, quotas, clock }: ManagementDeps): Route[] => [
  projectRoute(createLoyaltyProgramme, async ({ projectId, body: { key, ...terms } }) => {
    const created = await db.prisma.$transaction(async (tx) => {
      const checked = await checkedTerms(tx, projectId, terms)
      await lockQuota(tx, projectId, 'loyaltyProgrammes')
      if (await tx.loyaltyProgramme.findUnique({ where: { projectId_key: { projectId, key } } }))
        throw unprocessable('key', 'unique', 'must not be the key of another programme, also archived', key)
      const programmes = await tx.loyaltyProgramme.count({ where: { projectId } })
      requireWithinQuota(quotas, 'loyaltyProgrammes', programmes + 1)
      await tx.configChange.create({ data: { projectId } })
      return tx.loyaltyProgramme.create({
        data: { id: uuidv7(), projectId, key, name: terms.name, rules: [], ...checked },
      })
    })
    return { status: 201, body: view(created) }
  }),
  projectRoute(listLoyaltyProgrammes, async ({ projectId, query }) => ({
    body: await pageOf(query, (page) => db.prisma.loyaltyProgramme.findMany(page({ projectId })), view),
  })),
  projectRoute(getLoyaltyProgramme, async ({ projectId, key }) => ({
    body: view(await findProgramme(db.prisma, projectId, key)),
  })),
  projectRoute(updateLoyaltyProgramme, async ({ projectId, key, requireMatch, body }) => {
    const { id } = await findProgramme(db.prisma, projectId, key)
    const updated = await db.prisma.$transaction(async (tx) => {
      const checked = await checkedTerms(tx, projectId, body)
      await lockRow(tx, 'coupon.loyalty_programmes', id)
      const found = await findProgramme(tx, projectId, key)
      requireMatch(view(found))
      if (found.status === 'archived') throw new AppError('conflict', 'The programme is archived')
      await tx.configChange.create({ data: { projectId } })
      return tx.loyaltyProgramme.update({
        where: { id },
        data: { ...checked, version: { increment: 1 }, updatedAt: new Date(clock()) },
      })
    })
    return { body: view(updated) }
  }),
  projectRoute(archiveLoyaltyProgramme, async ({ projectId, key, requireMatch }) => {
    const { id } = await findProgramme(db.prisma, projectId, key)
    await db.prisma.$transaction(async (tx) => {
      await lockRow(tx, 'coupon.loyalty_programmes', id)
      const found = await findProgramme(tx, projectId, key)
      requireMatch(view(found))
      if (found.status === 'archived') return
      await tx.configChange.create({ data: { projectId } })
      await tx.loyaltyProgramme.update({
        where: { id },
        data: { status: 'archived', version: { increment: 1 }, updatedAt: new Date(clock()) },
      })
    })
    return { status: 204 }
  }),
  projectRoute(getLoyaltyLedger, async ({ projectId, key }) => {
    const { id } = await findProgramme(db.prisma, projectId, key)
    const sums = await readLedger(db.pool, id)
    const of = (account: string) => sums.get(account) ?? 0
    return {
      body: {
        balance: of('person'),
        earned: 0 - of('earned'),
        adjusted: 0 - of('adjusted'),
        spent: of('spent'),
        expired: of('expired'),
      },
    }
  }),
]

const view = (row: ProgrammeRow) => pick(row, ProgrammeView)
