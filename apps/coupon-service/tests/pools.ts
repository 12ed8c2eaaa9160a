import { type Database, openDatabase, type Prisma } from '@waymark/database'
import { DEFAULT_ALPHABET, drawCodes, normalizeCode } from '@waymark/domain/coupon'
import {
  compileDecision,
  compileSegment,
  createDecisionSet,
  createSegmentSet,
  type Segment,
} from '@waymark/domain/decision'
import { insertCoupons, issueCards } from '@waymark/pipeline'
import type { ProjectConfig, ProjectConfigs } from '@waymark/project-config'
import { createTestDatabase } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'

/** A database of its own, and two connection pools to it. */
export const openDatabases = async () => {
  const database = await createTestDatabase()
  const open = () =>
    openDatabase({ url: database.url, poolSize: 20, applicationName: 'test', onError: () => {} })
  const [db, other] = [open(), open()]
  return {
    db,
    other,
    close: async (): Promise<void> => {
      await db.close()
      await other.close()
      await database.drop()
    },
  }
}

/** The configurations of projects with nothing but selectors, segments and programmes. */
export const configsWith = (
  selectorsFor: ProjectConfig['selectorsFor'] = () => [],
  segments: readonly Segment[] = [],
  loyaltyProgrammes: ProjectConfig['loyaltyProgrammes'] = [],
): ProjectConfigs => ({
  get: async (projectId) => ({
    projectId,
    tenantId: 'tenant',
    settings: {},
    hasDefinitions: false,
    checkFor: () => undefined,
    triggersFor: () => [],
    loyaltyProgrammes,
    prepare: async () => {},
    decisions: createDecisionSet([], compileDecision, createSegmentSet(segments, compileSegment)),
    selectorsFor,
  }),
})

/** A project for pools. */
export const createProject = async ({ prisma }: Database): Promise<string> => {
  const { id } = await prisma.project.create({
    data: { id: uuidv7(), name: 'Shop', tenant: { create: { id: uuidv7(), name: 'Shop' } } },
  })
  return id
}

type PoolValues = {
  name?: string
  kind?: string
  status?: string
  size?: number
  generated?: number
  prefix?: string
  alphabet?: string
  length?: number
  startsAt?: Date
  expiresAt?: Date
  perProfileLimit?: number
  maxRedemptions?: number
  discount?: { type: string; [field: string]: string | number }
  rules?: Record<string, string | number | boolean | string[] | Record<string, Prisma.InputJsonValue>>
  stackable?: boolean
  priority?: number
  budgetAmount?: number
  budgetCurrency?: string
  /** What each gift card holds, in minor units. */
  cardAmount?: number
  cardCurrency?: string
  /** The codes to add, or the number of codes to generate. */
  codes?: readonly string[] | number
}

/** A ready pool with coupons. Returns its id and codes. */
export const createPool = async (
  db: Database,
  projectId: string,
  { codes = [], ...values }: PoolValues = {},
): Promise<{ id: string; codes: string[] }> => {
  const space = { alphabet: DEFAULT_ALPHABET, length: 16, prefix: '' }
  const all =
    typeof codes === 'number' ? drawCodes(space, codes) : codes.map((code) => normalizeCode(code) ?? '')
  const { id } = await db.prisma.couponPool.create({
    data: {
      ...space,
      id: uuidv7(),
      projectId,
      name: 'Summer',
      kind: 'unique',
      status: 'ready',
      size: all.length,
      generated: all.length,
      discount: { type: 'percent', value: 10 },
      ...values,
      count: { create: {} },
    },
  })
  const { cardAmount: amount, cardCurrency: currency } = values
  await db.transaction(async (client) => {
    await insertCoupons(
      client,
      { id, projectId },
      all.map((code) => ({ code, display: null })),
    )
    if (amount !== undefined && currency !== undefined)
      await issueCards(
        client,
        { id, projectId, currency },
        all.map((code) => ({ code, amount })),
        new Date(),
      )
  })
  return { id, codes: all }
}
