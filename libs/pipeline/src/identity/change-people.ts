import { AppError } from '@waymark/contracts/app-error'
import { MAX_PROFILE_TRAITS_BYTES } from '@waymark/contracts/http/identify'
import { type Database, retryConflicts } from '@waymark/database'
import { LoopTurns } from '@waymark/domain/fairness'
import {
  exceedsProfile,
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
  protectedTraits,
  type TraitState,
  type TraitWrite,
  writtenTraits,
} from '@waymark/domain/identity'
import type { ClientBase } from 'pg'
import { findErased } from '../erasure/index.ts'
import { attributeMerged } from '../links/index.ts'
import { type LockedIdentity, lockIdentities, pointIdentities } from './identity-queries.ts'
import { lockProfiles, newProfile, type Profile, saveChangedProfiles } from './profile-queries.ts'

/** Traits for a visitor or a user, or with both ids the link of a visitor to a user. */
export type PersonChange = {
  id: string
  projectId: string
  visitorId: string | null
  userId: string | null
  /** Checked traits; `null` unsets one. */
  traits: Record<string, unknown>
  /** RFC 3339. */
  receivedAt: string
  /** When the change was true, RFC 3339, if that was before its receipt. It does not replace what was true later. */
  happenedAt?: string
  /** Whether a secret key or a user hash authenticates the person. */
  verified: boolean
  /** Whether the change is refused when its traits do not fit into the profile. Otherwise they are left out. */
  mustFit: boolean
}

export type AppliedChange = {
  profileId: string
  /** All traits of the profile. */
  traits: Record<string, unknown>
  /** Traits that are protected by a verified write, when the change is not verified. */
  droppedKeys: string[]
  /** Traits that did not fit into the profile. Empty with `mustFit`. */
  leftOutKeys: string[]
}

/** What became of a change. Of one whose person was erased after its receipt, or that is too large, nothing was written. */
export type ChangeOutcome = ({ is: 'applied' } & AppliedChange) | { is: 'erased' } | { is: 'too_large' }

/** The visitor and the user of a change. */
export const identitiesOf = ({
  projectId,
  visitorId,
  userId,
}: Pick<PersonChange, 'projectId' | 'visitorId' | 'userId'>): Identity[] => [
  ...(visitorId === null ? [] : [{ projectId, kind: 'visitor' as const, value: visitorId }]),
  ...(userId === null ? [] : [{ projectId, kind: 'user' as const, value: userId }]),
]

/**
 * Applies changes in their order, in one transaction without those that are refused. It is idempotent. After a link, both
 * ids resolve to the user's profile. If the traits of a merged anonymous profile do not fit, the oldest of them are left
 * out. Pass tens of changes, because those of many people hold as many locks.
 */
export const changePeople = async (
  db: Pick<Database, 'transaction'>,
  changes: readonly PersonChange[],
): Promise<ChangeOutcome[]> => {
  const outcomes = new Map<PersonChange, ChangeOutcome>()
  for (let left = changes; left.length > 0; left = changes.filter((change) => !outcomes.has(change)))
    for (const [change, outcome] of await applyOrRefuse(db, left)) outcomes.set(change, outcome)
  return changes.map((change) => outcomes.get(change) ?? { is: 'erased' })
}

type Outcomes = ReadonlyMap<PersonChange, ChangeOutcome>

/** Thrown to roll back the transaction, which has created the identities of changes that are refused. */
class Refused extends Error {
  readonly outcomes: Outcomes
  constructor(outcomes: Outcomes) {
    super('changes of people are refused')
    this.outcomes = outcomes
  }
}

/** The outcomes of all changes, or of the refused ones. Then nothing was written. */
const applyOrRefuse = async (
  db: Pick<Database, 'transaction'>,
  changes: readonly PersonChange[],
): Promise<Outcomes> => {
  try {
    return await retryConflicts(() => db.transaction((client) => applyAll(client, changes)))
  } catch (error) {
    if (error instanceof Refused) return error.outcomes
    throw error
  }
}

/** @throws Refused */
const applyAll = async (client: ClientBase, changes: readonly PersonChange[]): Promise<Outcomes> => {
  const wanted = new Map(changes.flatMap(identitiesOf).map((identity) => [keyOf(identity), identity]))
  const identities = await lockIdentities(client, [...wanted.values()])
  const erased = await findErased(
    client,
    changes.map((change) => ({ ...change, people: identitiesOf(change) })),
  )
  if (erased.size > 0)
    throw new Refused(
      new Map(changes.filter((_, index) => erased.has(index)).map((change) => [change, { is: 'erased' }])),
    )
  const people = createPeople(
    identities,
    await lockProfiles(client, [...new Set(identities.map(({ profileId }) => profileId))]),
  )
  const outcomes = new Map<PersonChange, ChangeOutcome>()
  const turns = new LoopTurns()
  for (const change of changes) {
    if (turns.isOver()) await turns.next()
    outcomes.set(change, applyChange(people, change))
  }
  const refused = [...outcomes].filter(([, { is }]) => is !== 'applied')
  if (refused.length > 0) throw new Refused(new Map(refused))
  await people.save(client)
  return outcomes
}

const keyOf = ({ projectId, kind, value }: Identity): string => `${projectId}/${kind}/${value}`

/** Locked people, who are changed in memory before they are written. */
const createPeople = (identities: readonly LockedIdentity[], profiles: readonly Profile[]) => {
  const identityOf = new Map(identities.map((identity) => [keyOf(identity), identity]))
  const profileOf = new Map(profiles.map((profile) => [profile.id, profile]))
  const pointed = new Set<string>()
  const changed = new Set<string>()
  const grown = new Set<string>()
  return {
    identity: (identity: Identity): LockedIdentity => {
      const found = identityOf.get(keyOf(identity))
      if (!found) throw new Error(`no ${identity.kind} was locked`)
      return found
    },
    /** Undefined for a new identity, whose profile does not exist yet. */
    profile: (id: string): Profile | undefined => profileOf.get(id),
    point: (identity: LockedIdentity): void => {
      identityOf.set(keyOf(identity), identity)
      pointed.add(keyOf(identity))
    },
    change: (profile: Profile): void => {
      profileOf.set(profile.id, profile)
      changed.add(profile.id)
    },
    /** Marks a profile that another one was merged into. */
    merged: ({ id }: Profile): void => {
      grown.add(id)
    },
    save: async (client: ClientBase): Promise<void> => {
      const profilesIn = (ids: Iterable<string>) => [...ids].flatMap((id) => profileOf.get(id) ?? [])
      if (changed.size > 0) await saveChangedProfiles(client, profilesIn(changed))
      for (const { id: profileId, projectId, touches } of profilesIn(grown))
        await attributeMerged(client, { projectId, profileId, touches: touches.links })
      if (pointed.size > 0)
        await pointIdentities(
          client,
          [...pointed].flatMap((key) => identityOf.get(key) ?? []),
        )
    },
  }
}

type People = ReturnType<typeof createPeople>

const applyChange = (people: People, change: PersonChange): ChangeOutcome => {
  const [one, other] = identitiesOf(change).map(people.identity)
  if (!one) throw new Error('a change names no person')
  return other ? link(people, change, one, other) : write(people, change, one)
}

const write = (
  people: People,
  { id, receivedAt, happenedAt = receivedAt, traits, verified, mustFit }: PersonChange,
  identity: LockedIdentity,
): ChangeOutcome => {
  const known = people.profile(identity.profileId) ?? newProfile(identity)
  const by = { at: happenedAt, by: id, own: known.userId !== null, ...(!verified && UNVERIFIED) }
  const { kept, droppedKeys } = withoutProtected(known.traits, traits, by)
  const added = addTraits(known.traits, writtenTraits(kept, by))
  if (!added && mustFit) return { is: 'too_large' }
  const state = added ?? known.traits
  people.change({ ...known, traits: state })
  const leftOutKeys = added ? [] : Object.keys(kept)
  return { is: 'applied', profileId: known.id, traits: state.traits, droppedKeys, leftOutKeys }
}

const link = (
  people: People,
  { id, receivedAt, happenedAt = receivedAt, traits, verified, mustFit }: PersonChange,
  visitor: LockedIdentity,
  user: LockedIdentity,
): ChangeOutcome => {
  const visitorProfile = people.profile(visitor.profileId)
  const userProfile = people.profile(user.profileId)

  const now = { at: happenedAt, by: id }
  const plan = planLink(
    visitorProfile
      ? { profileId: visitorProfile.id, isUsers: visitorProfile.userId !== null, link: visitor.link }
      : null,
    userProfile?.id ?? null,
    now,
  )
  const linked = linkProfiles(plan, { visitorProfile, userProfile, visitor, user })
  const merged = plan === 'merge' ? visitorProfile : undefined
  const by: TraitWrite = { ...now, own: true, ...(!verified && UNVERIFIED) }
  const known = merged ? mergeTraits(linked.traits, merged.traits) : linked.traits
  const { kept, droppedKeys } = withoutProtected(known, traits, by)
  const hasTraits = Object.keys(kept).length > 0
  const added = hasTraits ? addTraits(linked.traits, writtenTraits(kept, by)) : linked.traits
  if (!added && mustFit) return { is: 'too_large' }
  const own = added ?? linked.traits
  const profile =
    own === linked.traits && !merged
      ? linked
      : { ...linked, traits: merged ? mergeTraitsThatFit(own, merged.traits) : own }

  if (profile !== userProfile) people.change(profile)
  if (merged) {
    people.change({ ...merged, traits: noTraits, touches: noTouches, mergedInto: profile.id })
    people.merged(profile)
  }
  const staysElsewhere = plan === 'none' && visitorProfile !== undefined && visitorProfile.id !== profile.id
  people.point({
    ...visitor,
    profileId: staysElsewhere ? visitorProfile.id : profile.id,
    link: laterLink(now, visitor.link),
  })
  if (user.profileId !== profile.id) people.point({ ...user, profileId: profile.id })
  const leftOutKeys = added ? [] : Object.keys(kept)
  return { is: 'applied', profileId: profile.id, traits: profile.traits.traits, droppedKeys, leftOutKeys }
}

type Known = Record<IdentityKind, LockedIdentity> & {
  visitorProfile: Profile | undefined
  userProfile: Profile | undefined
}

/** The user's profile after the plan, without the traits of a profile that is merged into it. */
const linkProfiles = (plan: LinkPlan, { visitorProfile, userProfile, visitor, user }: Known): Profile => {
  if (plan === 'create' || (plan === 'attach' && visitorProfile))
    return { ...(visitorProfile ?? newProfile(visitor)), userId: user.value }
  const profile = userProfile ?? newProfile(user)
  if (plan !== 'merge' || !visitorProfile) return profile
  return {
    ...profile,
    touches: mergeTouches(profile.touches, visitorProfile.touches),
  }
}

/** Marks a write without proof of the user. */
const UNVERIFIED = { verified: false } as const

/** Removes the traits that a write may not replace. */
const withoutProtected = (
  known: TraitState,
  traits: Record<string, unknown>,
  by: TraitWrite,
): { kept: Record<string, unknown>; droppedKeys: string[] } => {
  const droppedKeys = protectedTraits(known, traits, by)
  if (droppedKeys.length === 0) return { kept: traits, droppedKeys }
  const kept = Object.entries(traits).filter(([name]) => !droppedKeys.includes(name))
  return { kept: Object.fromEntries(kept), droppedKeys }
}

/** A profile's traits after a write, or undefined when they would be too large. */
const addTraits = (known: TraitState, written: TraitState): TraitState | undefined => {
  const state = mergeTraits(known, written)
  return exceedsProfile(state, known) ? undefined : state
}

/** Without the current size, because public keys must not read the traits of others. */
export const traitsTooLarge = (): AppError =>
  new AppError(
    'bad_request',
    `traits do not fit into the profile, which keeps at most ${MAX_PROFILE_TRAITS_BYTES} bytes of traits as JSON. ` +
      'Send smaller ones, or unset traits that are no longer needed with null',
  )
