import type { IdentifyRecord } from '@waymark/contracts'
import type { Database } from '@waymark/database'
import {
  type Identity,
  type IdentityKind,
  type LinkPlan,
  laterLink,
  mergeTouches,
  mergeTraits,
  noTouches,
  noTraits,
  planLink,
  writtenTraits,
} from '@waymark/domain'
import { aboutIdentify, findErased } from '../erasure/erased-records.ts'
import { attributeMerged } from '../links/attribute-conversions.ts'
import { type LockedIdentity, lockIdentities, pointIdentity } from './identity-rows.ts'
import { lockProfiles, newProfile, type Profile, saveProfiles } from './profile-rows.ts'
import { retryConflicts } from './retry-conflicts.ts'

/**
 * Links a visitor to a user and writes traits, in one transaction; applying a record twice is the same as once.
 * When it resolves, whoever resolves either id gets the user's profile.
 * @returns the id of the user's profile, or `null` when it was received before one of the two was erased: nothing is done
 */
export const applyIdentify = async (
  db: Pick<Database, 'transaction'>,
  record: IdentifyRecord,
): Promise<string | null> => {
  try {
    return await applyUnlessErased(db, record)
  } catch (error) {
    if (error === ERASED) return null
    throw error
  }
}

/** Undoes the transaction. */
const ERASED = new Error('the person has been erased')

const applyUnlessErased = (db: Pick<Database, 'transaction'>, record: IdentifyRecord): Promise<string> =>
  retryConflicts(() =>
    db.transaction(async (client) => {
      const { id, projectId, visitorId, userId, traits, receivedAt } = record
      const asVisitor: Identity = { projectId, kind: 'visitor', value: visitorId }
      const asUser: Identity = { projectId, kind: 'user', value: userId }
      const identities = await lockIdentities(client, [asVisitor, asUser])
      if ((await findErased(client, [aboutIdentify(record)])).size > 0) throw ERASED
      const known = identityOf(identities)
      const profiles = await lockProfiles(
        client,
        identities.map(({ profileId }) => profileId),
      )
      // An identity that was not known before names a profile that does not exist yet.
      const profileOf = (kind: IdentityKind): Profile | undefined =>
        profiles.find((profile) => profile.id === known(kind).profileId)
      const visitorProfile = profileOf('visitor')
      const userProfile = profileOf('user')

      const link = { at: receivedAt, by: id }
      const visitorLink = known('visitor').link
      const plan = planLink(
        visitorProfile
          ? { profileId: visitorProfile.id, isUsers: visitorProfile.userId !== null, link: visitorLink }
          : null,
        userProfile?.id ?? null,
        link,
      )
      const linked = linkProfiles(plan, {
        visitorProfile,
        userProfile,
        visitor: known('visitor'),
        user: known('user'),
      })
      const write = { at: receivedAt, by: id, own: true }
      const profile =
        Object.keys(traits).length === 0
          ? linked
          : { ...linked, traits: mergeTraits(linked.traits, writtenTraits(traits, write)) }

      const emptied =
        plan === 'merge' && visitorProfile
          ? [{ ...visitorProfile, traits: noTraits, touches: noTouches, mergedInto: profile.id }]
          : []
      if (profile !== userProfile) await saveProfiles(client, [profile, ...emptied])
      if (emptied.length > 0)
        await attributeMerged(client, { projectId, profileId: profile.id, touches: profile.touches.links })
      const staysElsewhere =
        plan === 'none' && visitorProfile !== undefined && visitorProfile.id !== profile.id
      await pointIdentity(client, {
        ...known('visitor'),
        profileId: staysElsewhere ? visitorProfile.id : profile.id,
        link: laterLink(link, visitorLink),
      })
      if (known('user').profileId !== profile.id)
        await pointIdentity(client, { ...known('user'), profileId: profile.id })
      return profile.id
    }),
  )

type Known = {
  visitorProfile: Profile | undefined
  userProfile: Profile | undefined
  visitor: LockedIdentity
  user: LockedIdentity
}

/** The user's profile once the plan is carried out. */
const linkProfiles = (plan: LinkPlan, { visitorProfile, userProfile, visitor, user }: Known): Profile => {
  if (plan === 'create' || (plan === 'attach' && visitorProfile))
    return { ...(visitorProfile ?? newProfile(visitor)), userId: user.value }
  const profile = userProfile ?? newProfile(user)
  if (plan !== 'merge' || !visitorProfile) return profile
  return {
    ...profile,
    traits: mergeTraits(profile.traits, visitorProfile.traits),
    touches: mergeTouches(profile.touches, visitorProfile.touches),
  }
}

const identityOf =
  <T extends Identity>(identities: readonly T[]) =>
  (kind: IdentityKind): T => {
    const found = identities.find((identity) => identity.kind === kind)
    if (!found) throw new Error(`no ${kind} was locked`)
    return found
  }
