import type { Identity } from '../identity/link.ts'

/** The profile that an id belongs to. */
export type KnownPerson = {
  profileId: string
  /** The id for which the profile was created. */
  bucketingId: string
  /** Whether it belongs to a user, and not to an anonymous visitor. */
  isUsers: boolean
}

/** The subject that is hashed, the id that determined it, and the profile if there is one. */
export type Subject = { subject: string; identity: Identity; profileId: string | null }

type Ids = { projectId: string; visitorId: string | null; userId: string | null }

/**
 * Determines the subject from a visitor id and a user id, one of which may be missing. `visitor` and `user` are the known
 * people. An unknown user gets the anonymous visitor's subject, as after an identify call, so that variants do not change
 * at login.
 * @returns `undefined` when there is neither id
 */
export const subjectOf = (
  { projectId, visitorId, userId }: Ids,
  visitor: KnownPerson | undefined,
  user: KnownPerson | undefined,
): Subject | undefined => {
  const asUser = userId === null ? undefined : ({ projectId, kind: 'user', value: userId } as const)
  const asVisitor =
    visitorId === null ? undefined : ({ projectId, kind: 'visitor', value: visitorId } as const)
  if (asUser && user) return known(asUser, user)
  // The profile of another user must not be used for an unknown user.
  if (asUser && visitor?.isUsers) return unknown(asUser)
  if (asVisitor) return visitor ? known(asVisitor, visitor) : unknown(asVisitor)
  return asUser && unknown(asUser)
}

/** What decisions with the buckets of flagd hash: the visitor id as it was sent, else the user id. */
export const targetingKeyOf = ({ visitorId, userId }: Omit<Ids, 'projectId'>): string =>
  visitorId ?? userId ?? ''

const known = (identity: Identity, { bucketingId, profileId }: KnownPerson): Subject => ({
  subject: bucketingId,
  identity,
  profileId,
})

const unknown = (identity: Identity): Subject => ({ subject: identity.value, identity, profileId: null })
