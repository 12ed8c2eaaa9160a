import type { IdentifyRecord } from '@waymark/contracts'
import { type Database, retryConflicts } from '@waymark/database'
import {
  type Identity,
  type IdentityKind,
  type LinkPlan,
  laterLink,
  mergeTouches,
  mergeTraits,
  mergeTraitsThatFit,
  noTouches,
  noTraits,
  planLink,
  writtenTraits,
} from '@waymark/domain'
import { aboutIdentify, findErased } from '../erasure/index.ts'
import { attributeMerged } from '../links/index.ts'
import { type LockedIdentity, lockIdentities, pointIdentity } from './identity-queries.ts'
import { lockProfiles, newProfile, type Profile, saveChangedProfiles } from './profile-queries.ts'
import { addTraits, traitsTooLarge, UNVERIFIED, withoutProtected } from './write-traits.ts'

/** The user's profile, and the traits of the record that were not written. */
type AppliedIdentify = {
  profileId: string
  /** Traits that are protected by a verified write, when the record is not verified. */
  droppedKeys: string[]
  /** Traits that did not fit into the profile. Empty with `mustFit`. */
  leftOutKeys: string[]
}

/**
 * Links a visitor to a user and writes traits, in one transaction. It is idempotent. Afterwards both ids resolve to the
 * user's profile. If the traits of a merged anonymous profile do not fit, the oldest of them are left out. If those of
 * the record do not fit, all of them are left out, unless `mustFit` is set.
 * @returns `null` when the visitor or user was erased after the record was received; then nothing is written
 * @throws AppError bad_request with `mustFit` when the traits do not fit; then nothing is written
 */
export const applyIdentify = async (
  db: Pick<Database, 'transaction'>,
  record: IdentifyRecord,
  { mustFit = false } = {},
): Promise<AppliedIdentify | null> => {
  try {
    return await applyUnlessErased(db, record, mustFit)
  } catch (error) {
    if (error === ERASED) return null
    throw error
  }
}

/** The visitor and the user of an identify record. */
export const identitiesOf = ({ projectId, visitorId, userId }: IdentifyRecord): Identity[] => [
  { projectId, kind: 'visitor', value: visitorId },
  { projectId, kind: 'user', value: userId },
]

/** Thrown to roll back the transaction. */
const ERASED = new Error('The person was erased')

const applyUnlessErased = (
  db: Pick<Database, 'transaction'>,
  record: IdentifyRecord,
  mustFit: boolean,
): Promise<AppliedIdentify> =>
  retryConflicts(() =>
    db.transaction(async (client) => {
      const { id, projectId, traits, receivedAt, verified = false } = record
      const identities = await lockIdentities(client, identitiesOf(record))
      if ((await findErased(client, [aboutIdentify(record)])).size > 0) throw ERASED
      const identity = identityOf(identities)
      const profiles = await lockProfiles(
        client,
        identities.map(({ profileId }) => profileId),
      )
      // The profile of a new identity does not exist yet.
      const profileOf = (kind: IdentityKind): Profile | undefined =>
        profiles.find((profile) => profile.id === identity(kind).profileId)
      const visitorProfile = profileOf('visitor')
      const userProfile = profileOf('user')

      const link = { at: receivedAt, by: id }
      const visitorLink = identity('visitor').link
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
        visitor: identity('visitor'),
        user: identity('user'),
      })
      const merged = plan === 'merge' ? visitorProfile : undefined
      const write = { at: receivedAt, by: id, own: true, ...(!verified && UNVERIFIED) }
      const known = merged ? mergeTraits(linked.traits, merged.traits) : linked.traits
      const { kept, droppedKeys } = withoutProtected(known, traits, write)
      const hasTraits = Object.keys(kept).length > 0
      const added = hasTraits ? addTraits(linked.traits, writtenTraits(kept, write)) : linked.traits
      if (!added && mustFit) throw traitsTooLarge()
      const own = added ?? linked.traits
      const profile =
        own === linked.traits && !merged
          ? linked
          : { ...linked, traits: merged ? mergeTraitsThatFit(own, merged.traits) : own }

      const emptied = merged
        ? [{ ...merged, traits: noTraits, touches: noTouches, mergedInto: profile.id }]
        : []
      if (profile !== userProfile) await saveChangedProfiles(client, [profile, ...emptied])
      if (emptied.length > 0)
        await attributeMerged(client, { projectId, profileId: profile.id, touches: profile.touches.links })
      const staysElsewhere =
        plan === 'none' && visitorProfile !== undefined && visitorProfile.id !== profile.id
      await pointIdentity(client, {
        ...identity('visitor'),
        profileId: staysElsewhere ? visitorProfile.id : profile.id,
        link: laterLink(link, visitorLink),
      })
      if (identity('user').profileId !== profile.id)
        await pointIdentity(client, { ...identity('user'), profileId: profile.id })
      return { profileId: profile.id, droppedKeys, leftOutKeys: added ? [] : Object.keys(kept) }
    }),
  )

type LockedProfiles = {
  visitorProfile: Profile | undefined
  userProfile: Profile | undefined
  visitor: LockedIdentity
  user: LockedIdentity
}

/** The user's profile after the plan, without the traits of a profile that is merged into it. */
const linkProfiles = (
  plan: LinkPlan,
  { visitorProfile, userProfile, visitor, user }: LockedProfiles,
): Profile => {
  if (plan === 'create' || (plan === 'attach' && visitorProfile))
    return { ...(visitorProfile ?? newProfile(visitor)), userId: user.value }
  const profile = userProfile ?? newProfile(user)
  if (plan !== 'merge' || !visitorProfile) return profile
  return {
    ...profile,
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
