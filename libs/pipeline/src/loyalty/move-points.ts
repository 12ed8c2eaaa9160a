import { hash } from 'node:crypto'
import type { LoyaltyProgramme, SpendingRate } from '@waymark/contracts/loyalty'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import type { Database } from '@waymark/database'
import { eventKeyOf } from '@waymark/domain/ingestion'
import { earnedPoints, expiryOf, type Lot, spendPoints, takeFromLots } from '@waymark/domain/loyalty'
import type { ClientBase } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import {
  addReversal,
  findExpiredLots,
  findOrderLots,
  findReversedOrders,
  lockAccounts,
  lockExpiredLots,
  lockOutReversals,
  type OrderLot,
  openAccounts,
  type PointEntry,
  type PointMovement,
  postPoints,
  readLots,
} from './point-ledger-queries.ts'

type Earning = {
  event: EnrichedEvent
  profileId: string
  programme: LoyaltyProgramme
  points: number
  orderId: string | null
}

/** Lots of one run of the expiry. */
const LOTS_AT_ONCE = 500

/** What stands for an order that was reversed: its id would identify a person after an erasure. */
const orderHashOf = (projectId: string, orderId: string): string =>
  hash('sha256', `${projectId}:${orderId}`, 'base64url')

/**
 * The points that new events earn in active programmes. Call it in the transaction that claims the ids of the events, so that each
 * earns once. Imported events of the past earn none.
 */
export const earnPoints = async (
  client: ClientBase,
  events: readonly EnrichedEvent[],
  programmesOf: (projectId: string) => readonly LoyaltyProgramme[],
  at: Date,
): Promise<void> => {
  const earnings = await withoutReversed(
    client,
    events.flatMap((event) => earningsOf(event, programmesOf)),
  )
  if (earnings.length === 0) return
  const keyOf = ({ programmeId, profileId }: { programmeId: string; profileId: string }) =>
    `${programmeId}/${profileId}`
  const keys = earnings.map(({ event: { projectId }, programme: { id: programmeId }, profileId }) => ({
    id: uuidv7(),
    projectId,
    programmeId,
    profileId,
  }))
  const wanted = [...new Map(keys.map((key) => [keyOf(key), key])).values()]
  await openAccounts(client, wanted, at)
  const accountOf = new Map(
    (await lockAccounts(client, wanted)).map((account) => [keyOf(account), account.id]),
  )
  const entries: PointEntry[] = []
  const movements = earnings.flatMap(({ event, programme, profileId, points, orderId }) => {
    const programmeId = programme.id
    const accountId = accountOf.get(keyOf({ programmeId, profileId }))
    // Erased between the two statements.
    if (accountId === undefined) return []
    const movement = earningMovement({ projectId: event.projectId, programmeId, kind: 'earned', at }, event, {
      orderId,
      programme,
    })
    entries.push(...creditOf(movement, accountId, 'earned', points))
    return [movement]
  })
  await postPoints(client, movements, entries)
}

/** A movement that happens at the time at which it is stored. */
const movementOf = (
  { projectId, programmeId }: Pick<PointMovement, 'projectId' | 'programmeId'>,
  kind: PointMovement['kind'],
  at: Date,
): PointMovement => ({ id: uuidv7(), projectId, programmeId, kind, occurredAt: at, at })

const earningMovement = (
  base: Pick<PointMovement, 'projectId' | 'programmeId' | 'kind' | 'at'>,
  { timestamp, eventId }: EnrichedEvent,
  { orderId, programme }: Pick<Earning, 'orderId' | 'programme'>,
): PointMovement => {
  const occurredAt = new Date(timestamp)
  return {
    ...base,
    id: uuidv7(),
    eventKey: eventKeyOf(eventId),
    orderId,
    occurredAt,
    expiresAt: expiryOf(programme, occurredAt),
  }
}

/** The entries that add points to an account as a lot of their own. */
const creditOf = (
  { id: movementId, programmeId }: PointMovement,
  accountId: string,
  account: 'earned' | 'adjusted',
  points: number,
): PointEntry[] => [
  { movementId, programmeId, accountId, account: 'person', lotId: movementId, points },
  { movementId, programmeId, accountId, account, points: -points },
]

/** The entries that take points of lots, or return them when below 0, to one account of the programme for each person. */
const debitOf = (
  { id: movementId, programmeId }: Pick<PointMovement, 'id' | 'programmeId'>,
  lots: readonly Lot[],
  account: PointEntry['account'],
): PointEntry[] => [
  ...lots.map(
    ({ id: lotId, accountId, points }): PointEntry => ({
      movementId,
      programmeId,
      accountId,
      account: 'person',
      lotId,
      points: -points,
    }),
  ),
  ...[...Map.groupBy(lots, ({ accountId }) => accountId)].map(
    ([accountId, own]): PointEntry => ({
      movementId,
      programmeId,
      accountId,
      account,
      points: sumOf(own),
    }),
  ),
]

const sumOf = (lots: readonly { points: number }[]): number =>
  lots.reduce((sum, { points }) => sum + points, 0)

const earningsOf = (
  event: EnrichedEvent,
  programmesOf: (projectId: string) => readonly LoyaltyProgramme[],
): Earning[] => {
  const { profileId } = event
  if (event.conversions.length === 0 || profileId === null || event.backfill) return []
  return programmesOf(event.projectId).flatMap((programme) => {
    const earned = programme.status === 'active' && earnedPoints(programme.rules, event)
    return earned ? [{ event, profileId, programme, ...earned }] : []
  })
}

/** Earnings without those of orders that were reversed before. Prevents reversals of the others until the transaction ends. */
const withoutReversed = async (client: ClientBase, earnings: readonly Earning[]): Promise<Earning[]> => {
  const orders = new Map(
    earnings.flatMap(({ event: { projectId }, orderId }) => {
      if (orderId === null) return []
      const orderHash = orderHashOf(projectId, orderId)
      return [[`${projectId}/${orderHash}`, { projectId, orderHash }] as const]
    }),
  )
  if (orders.size === 0) return [...earnings]
  const named = [...orders.values()]
  await lockOutReversals(client, [...new Set(named.map(({ projectId }) => projectId))].sort())
  const reversed = await findReversedOrders(client, named)
  return earnings.filter(
    ({ event: { projectId }, orderId }) =>
      orderId === null || !reversed.has(`${projectId}/${orderHashOf(projectId, orderId)}`),
  )
}

/** Whether an order was reversed. The caller has locked it. */
export const isReversed = async (
  client: ClientBase,
  projectId: string,
  orderId: string,
): Promise<boolean> => {
  const order = { projectId, orderHash: orderHashOf(projectId, orderId) }
  return (await findReversedOrders(client, [order])).size > 0
}

/** What a reversal moved in a programme. */
export type ReversedPoints = {
  programmeId: string
  /** Points that were taken back. */
  earned: number
  /** Points that were returned. */
  spent: number
  /** Earned points that were not taken back, because they were spent meanwhile. */
  shortfall: number
}

/**
 * Reverses an order that the transaction has locked: returns the points that it spent to their lots, and takes back those that
 * it earned, at most what the person has. A repeat moves nothing. The order earns and spends nothing afterwards.
 */
export const reverseOrder = async (
  client: ClientBase,
  {
    projectId,
    orderId,
    reason = null,
    at,
  }: { projectId: string; orderId: string; reason?: string | null; at: Date },
): Promise<ReversedPoints[]> => {
  if (!(await addReversal(client, { projectId, orderHash: orderHashOf(projectId, orderId), at }))) return []
  const moved = await findOrderLots(client, projectId, orderId)
  if (moved.length === 0) return []
  await lockAccounts(client, moved)
  const reversed: ReversedPoints[] = []
  for (const [programmeId, lots] of Map.groupBy(moved, (lot) => lot.programmeId)) {
    const newMovement = () => ({
      ...movementOf({ projectId, programmeId }, 'reversed', at),
      orderId,
      reason,
    })
    const returned = lots
      .filter(({ kind }) => kind === 'spent')
      .map(({ lotId, accountId, points }) => ({ id: lotId, accountId, points }))
    const returning = newMovement()
    if (returned.length > 0) await postPoints(client, [returning], debitOf(returning, returned, 'spent'))

    const earned = lots.filter(({ kind }) => kind === 'earned')
    const accountIds = [...new Set(earned.map(({ accountId }) => accountId))]
    const ids = earned.map(({ lotId }) => lotId)
    const { taken, shortfall } = takeBack(earned, await readLots(client, accountIds, at, ids))
    const taking = { ...newMovement(), ...(shortfall > 0 && { shortfall }) }
    if (taken.length > 0 || shortfall > 0)
      await postPoints(client, [taking], debitOf(taking, taken, 'earned'))
    reversed.push({ programmeId, earned: sumOf(taken), spent: 0 - sumOf(returned), shortfall })
  }
  return reversed
}

/** What is taken back of earned points: of their own lots first, then the oldest ones. What has expired is gone already. */
const takeBack = (earned: readonly OrderLot[], lots: readonly Lot[]): { taken: Lot[]; shortfall: number } => {
  const wanted = earned.reduce((sum, { points, expired }) => sum + points - expired, 0)
  const own = new Set(earned.map(({ lotId }) => lotId))
  const inOrder = [...lots.filter(({ id }) => own.has(id)), ...lots.filter(({ id }) => !own.has(id))]
  const taken = takeFromLots(inOrder, wanted)
  return { taken, shortfall: wanted - sumOf(taken) }
}

/** A person by all their profiles, in a programme. */
type Holder = { projectId: string; programmeId: string; profileIds: readonly string[] }

/** The lots of a person, whose accounts are locked until the transaction ends. */
const lockLots = async (
  client: ClientBase,
  { programmeId, profileIds }: Holder,
  at: Date,
): Promise<Lot[]> => {
  const accounts = await lockAccounts(
    client,
    profileIds.map((profileId) => ({ programmeId, profileId })),
  )
  return readLots(
    client,
    accounts.map(({ id }) => id),
    at,
  )
}

/** What an order spent. `amount` in minor units; `balance`: what is left to the person. */
export type SpentPoints = { movementId: string | null; points: number; amount: number; balance: number }
/** Why nothing moved. */
export type UnspentPoints = { refusal: 'insufficient_points' | 'minimum_points' }

/**
 * Spends points on an order that the transaction has locked: at most `wanted`, and no more than `due` minor units are worth.
 * Nothing moves when the person has fewer than were wanted, or fewer than the minimum would be spent.
 */
export const spendOnOrder = async (
  client: ClientBase,
  holder: Holder,
  {
    orderId,
    rate,
    wanted,
    due,
    at,
  }: { orderId: string; rate: SpendingRate; wanted: number | null; due: number; at: Date },
): Promise<SpentPoints | UnspentPoints> => {
  const lots = await lockLots(client, holder, at)
  const available = sumOf(lots)
  if (available < (wanted ?? 1)) return { refusal: 'insufficient_points' }
  const { points, amount } = spendPoints(rate, wanted ?? available, due)
  if (points === 0) return { movementId: null, points, amount, balance: available }
  if (points < (rate.minimum ?? 0)) return { refusal: 'minimum_points' }
  const movement = { ...movementOf(holder, 'spent', at), orderId, amount, currency: rate.currency }
  await postPoints(client, [movement], debitOf(movement, takeFromLots(lots, points), 'spent'))
  return { movementId: movement.id, points, amount, balance: available - points }
}

/**
 * Adds points to the account of a profile, or takes the oldest ones of a person when `points` is below 0. Resolves to whether the
 * person had enough; otherwise nothing moves.
 */
export const adjustPoints = async (
  client: ClientBase,
  { profileId, ...holder }: Holder & { profileId: string },
  {
    points,
    at,
    ...described
  }: { points: number } & Pick<PointMovement, 'key' | 'reason' | 'expiresAt'> & { at: Date },
): Promise<boolean> => {
  const { projectId, programmeId } = holder
  const movement = { ...movementOf(holder, 'adjusted', at), ...described }
  if (points < 0) {
    const lots = await lockLots(client, holder, at)
    if (sumOf(lots) < -points) return false
    await postPoints(
      client,
      [{ ...movement, expiresAt: null }],
      debitOf(movement, takeFromLots(lots, -points), 'adjusted'),
    )
    return true
  }
  await openAccounts(client, [{ id: uuidv7(), projectId, programmeId, profileId }], at)
  const [account] = await lockAccounts(client, [{ programmeId, profileId }])
  if (!account) throw new Error('The account of an adjustment was not found')
  await postPoints(client, [movement], creditOf(movement, account.id, 'adjusted', points))
  return true
}

/**
 * Moves points that have expired to the account `expired`, at most `LOTS_AT_ONCE` lots per run. Resolves to how many lots it moved.
 * A balance does not contain them before either.
 */
export const createExpirePoints =
  ({ db, clock }: { db: Pick<Database, 'pool' | 'transaction'>; clock: () => number }) =>
  async (): Promise<number> => {
    const at = new Date(clock())
    const found = await findExpiredLots(db.pool, at, LOTS_AT_ONCE)
    if (found.length === 0) return 0
    return db.transaction(async (client) => {
      const lots = await lockExpiredLots(client, found)
      const movements: PointMovement[] = []
      const entries: PointEntry[] = []
      for (const [programmeId, own] of Map.groupBy(lots, (lot) => lot.programmeId)) {
        const projectId = own[0]?.projectId ?? ''
        const movement = movementOf({ projectId, programmeId }, 'expired', at)
        movements.push(movement)
        entries.push(...debitOf(movement, own, 'expired'))
      }
      if (movements.length > 0) await postPoints(client, movements, entries)
      return lots.length
    })
  }
