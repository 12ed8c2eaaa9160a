import { hash } from 'node:crypto'
import { AppError } from '@waymark/contracts/app-error'
import {
  adjustPoints as adjustOperation,
  getPointAccount,
  listPointAccounts,
  listPointMovements,
  type PersonOfPoints,
  type PointAccountView,
  PointMovementView,
  reverseOrderPoints,
} from '@waymark/contracts/http/loyalty'
import { pick } from '@waymark/contracts/http/pick'
import { canonicalJson } from '@waymark/domain/json'
import { expiryOf, tierOf } from '@waymark/domain/loyalty'
import {
  adjustPoints,
  findShopper,
  lockOrderId,
  type PersonPoints,
  readPoints,
  resolveProfiles,
  reverseOrder,
  withSegments,
} from '@waymark/pipeline'
import type { Route } from '@waymark/service-kit'
import { pageOf } from '../http/page.ts'
import { requireFound, requireId, unprocessable } from '../http/validation.ts'
import { writeTransaction } from '../http/write-transaction.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { lockMovementKey } from '../movement-key-queries.ts'
import { findProgramme } from './loyalty-programmes.ts'
import { findPersonOfProfile, listMovements, lockProfile } from './point-queries.ts'
import { type ProgrammeRow, tiersOf } from './programme-rows.ts'

/** The traits of a person, and all their profiles. */
type Person = { traits: Record<string, unknown>; profileIds: string[] }

/** The points of people. Locks are taken in the order of a redemption: key or order, profile, accounts. */
export const pointRoutes = ({ projectRoute, db, projectConfigs, clock }: ManagementDeps): Route[] => {
  /** The person that a request names; undefined when it names none. @throws AppError unprocessable when it names several */
  const personOf = async (
    projectId: string,
    { userId, visitorId, profileId }: PersonOfPoints,
  ): Promise<Person | undefined> => {
    const named = [userId, visitorId, profileId].filter((id) => id !== undefined)
    if (named.length > 1)
      throw unprocessable('', 'exclusive', 'must name one of userId, visitorId and profileId')
    if (profileId !== undefined)
      return requireFound(await findPersonOfProfile(db.pool, projectId, profileId.toLowerCase()))
    return findShopper(db.pool, { projectId, userId: userId ?? null, visitorId: visitorId ?? null })
  }

  const viewAll = async (
    projectId: string,
    person: Person,
    programmes: readonly ProgrammeRow[],
    points: readonly PersonPoints[],
  ): Promise<PointAccountView[]> => {
    const now = clock()
    const conditions = programmes
      .flatMap(({ tiers }) => tiersOf(tiers))
      .flatMap(({ segment }) => (segment === undefined ? [] : { segment }))
    const { segments } = (await projectConfigs.get(projectId)).decisions
    const shopper = { ...person, hasOrdered: false }
    const member = await withSegments(db.pool, shopper, conditions, { segments, now })
    const isInSegment = (key: string) => member?.segments?.(key)?.holds() === true
    const pointsOf = new Map(points.map((one) => [one.programmeId, one]))
    return programmes.map(({ id, key, name, tiers }) => {
      const own = pointsOf.get(id)
      const { balance = 0, earned = 0, nextExpiry = null } = own ?? {}
      const tier = tierOf(tiersOf(tiers), earned, isInSegment)
      return {
        programmeKey: key,
        programmeName: name,
        balance,
        earned,
        nextExpiry: nextExpiry && { points: nextExpiry.points, at: nextExpiry.at.toISOString() },
        tier: tier ? { key: tier.key, name: tier.name } : null,
      }
    })
  }

  const viewOne = async (projectId: string, person: Person, programme: ProgrammeRow) => {
    const at = new Date(clock())
    const points = await readPoints(db.pool, person.profileIds, { at, programmeId: programme.id })
    return requireFound((await viewAll(projectId, person, [programme], points))[0])
  }

  /** The profile of a person that a request names, which is created for a new id. @throws AppError unprocessable */
  const profileOf = async (projectId: string, named: PersonOfPoints): Promise<string> => {
    const person = requireNamed(await personOf(projectId, named))
    const [known] = person.profileIds
    if (known !== undefined) return known
    const { userId = null, visitorId = null } = named
    const [created] = await resolveProfiles(db.pool, [{ projectId, userId, visitorId }])
    return requireFound(created)
  }

  return [
    projectRoute(getPointAccount, async ({ projectId, key, query }) => {
      const programme = await findProgramme(db.prisma, projectId, key)
      const person = requireNamed(await personOf(projectId, query))
      return { body: await viewOne(projectId, person, programme) }
    }),
    projectRoute(listPointAccounts, async ({ projectId, id }) => {
      const person = requireFound(await findPersonOfProfile(db.pool, projectId, requireId(id)))
      const points = await readPoints(db.pool, person.profileIds, { at: new Date(clock()) })
      const programmes = await db.prisma.loyaltyProgramme.findMany({
        where: { projectId, id: { in: points.map(({ programmeId }) => programmeId) } },
        orderBy: { id: 'desc' },
      })
      return { body: { data: await viewAll(projectId, person, programmes, points) } }
    }),
    projectRoute(listPointMovements, async ({ projectId, key, query }) => {
      const { id } = await findProgramme(db.prisma, projectId, key)
      const person = await personOf(projectId, query)
      const filters = { profileIds: person?.profileIds, orderId: query.orderId }
      return {
        body: await pageOf(
          query,
          (_page, part) => listMovements(db.pool, id, filters, part),
          (movement) => pick(movement, PointMovementView),
        ),
      }
    }),
    projectRoute(adjustOperation, async ({ projectId, key: programmeKey, body }) => {
      const programme = await findProgramme(db.prisma, projectId, programmeKey)
      const { points, key, reason = null, ...named } = body
      if (points === 0) throw unprocessable('points', 'zero', 'must not be 0', points)
      if (programme.status === 'archived') throw refuse('archived')
      const profileId = await profileOf(projectId, named)
      await writeTransaction(db, async (client) => {
        // Clients put ids of people into keys, which an erasure would not find.
        const keyHash = hash('sha256', key, 'base64url')
        const requestHash = hash('sha256', canonicalJson({ programmeKey, body }), 'base64url')
        const used = await lockMovementKey(client, 'point', projectId, keyHash)
        if (used === requestHash) return
        if (used !== undefined) throw refuse('key_reused')
        requireFound((await lockProfile(client, profileId)) || undefined)
        const { profileIds } = requireFound(await findPersonOfProfile(client, projectId, profileId))
        const at = new Date(clock())
        const moved = await adjustPoints(
          client,
          { projectId, programmeId: programme.id, profileIds, profileId },
          { points, reason, key: { keyHash, requestHash }, expiresAt: expiryOf(programme, at), at },
        )
        if (!moved) throw refuse('insufficient_points')
      })
      const person = requireFound(await findPersonOfProfile(db.pool, projectId, profileId))
      return { body: await viewOne(projectId, person, programme) }
    }),
    projectRoute(reverseOrderPoints, async ({ projectId, body: { orderId, reason = null } }) => {
      const at = new Date(clock())
      const programmes = await writeTransaction(db, async (client) => {
        await lockOrderId(client, projectId, orderId)
        return reverseOrder(client, { projectId, orderId, reason, at })
      })
      return { body: { programmes } }
    }),
  ]
}

const requireNamed = <T>(person: T | undefined): T => {
  if (person !== undefined) return person
  throw unprocessable('', 'required', 'must name one of userId, visitorId and profileId')
}

const MESSAGES = {
  insufficient_points: 'The person has fewer points than are to be taken',
  key_reused: 'The key belongs to another request: send another key',
  archived: 'The programme is archived',
} as const

const refuse = (reason: keyof typeof MESSAGES): AppError =>
  new AppError('conflict', MESSAGES[reason], { reason })
