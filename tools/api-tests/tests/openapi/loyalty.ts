import { randomUUID } from 'node:crypto'
import {
  adjustPoints,
  archiveLoyaltyProgramme,
  createLoyaltyProgramme,
  getLoyaltyLedger,
  getLoyaltyProgramme,
  getPointAccount,
  listLoyaltyProgrammes,
  listPointAccounts,
  listPointMovements,
  reverseOrderPoints,
  updateLoyaltyProgramme,
} from '@waymark/contracts/http/loyalty'
import { createMeteringSelector } from '@waymark/contracts/http/metering-selectors'
import { listProfiles } from '@waymark/contracts/http/profile-view'
import { type Example, stringIn } from './example.ts'
import type { Call, World } from './world.ts'

const aProgramme = () => ({ key: `club-${randomUUID()}`, name: 'Club' })

const newProgramme = async ({ call }: World): Promise<Call & { params: { key: string } }> => {
  const { body } = await call(createLoyaltyProgramme, { body: aProgramme() })
  return { params: { key: stringIn(body, 'key') } }
}
const archived = async (world: World) => {
  const { params } = await newProgramme(world)
  await world.call(archiveLoyaltyProgramme, { params })
  return { params }
}
/** A programme, and a user with points in it. */
const withPoints = async (world: World) => {
  const { params } = await newProgramme(world)
  const userId = randomUUID()
  await world.call(adjustPoints, { params, body: { userId, points: 50, key: randomUUID() } })
  return { params, query: { userId } }
}

/** The operations of loyalty programmes and points. */
export const loyaltyExamples: Example[] = [
  {
    operation: createLoyaltyProgramme,
    good: async ({ call }) => {
      const { body } = await call(createMeteringSelector, {
        body: { eventName: `order-${randomUUID()}`, amountProperty: 'total' },
      })
      const rules = [{ selectorId: stringIn(body, 'id'), points: 1, perAmount: 100, currency: 'EUR' }]
      return { body: { ...aProgramme(), rules } }
    },
  },
  {
    operation: listLoyaltyProgrammes,
    good: async (world) => {
      await newProgramme(world)
      return {}
    },
  },
  { operation: getLoyaltyProgramme, good: newProgramme },
  {
    operation: updateLoyaltyProgramme,
    good: async (world) => ({ ...(await newProgramme(world)), body: { expiryMonths: 12 } }),
    others: { 409: async (world) => ({ ...(await archived(world)), body: { expiryMonths: 12 } }) },
  },
  { operation: archiveLoyaltyProgramme, good: newProgramme },
  { operation: getLoyaltyLedger, good: newProgramme },
  { operation: getPointAccount, good: withPoints },
  {
    operation: listPointAccounts,
    good: async (world) => {
      const { query } = await withPoints(world)
      const { body } = await world.call(listProfiles, { query })
      return { params: { id: stringIn((body as { data: unknown[] }).data[0], 'id') } }
    },
  },
  { operation: listPointMovements, good: withPoints },
  {
    operation: adjustPoints,
    good: async (world) => ({
      ...(await newProgramme(world)),
      body: { userId: randomUUID(), points: 50, key: randomUUID() },
    }),
    others: {
      409: async (world) => ({
        ...(await newProgramme(world)),
        body: { userId: randomUUID(), points: -1, key: randomUUID() },
      }),
    },
  },
  { operation: reverseOrderPoints, good: () => ({ body: { orderId: randomUUID() } }) },
]
