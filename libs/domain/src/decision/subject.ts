import type { Identity } from '../identity/link.ts'

/** Who somebody is, as far as an id tells: the profile that it belongs to now. */
export type KnownPerson = {
  profileId: string
  /** What the profile was created for. */
  bucketingId: string
  /** Whether it is a user's and not an anonymous visitor's. */
  isUsers: boolean
}

/** Whom to decide for: what is hashed, the one id that counted, and the profile if there is one. */
export type Subject = { subject: string; identity: Identity; profileId: string | null }

type Ids = { projectId: string; visitorId: string | null; userId: string | null }

/**
 * Who is meant by a visitor and a user id, of which one may be missing. `visitor` and `user` are what is known of them.
 * Where nothing is known yet, it is the person that will be: an identify with both ids would have the user take over an
 * anonymous visitor's profile, so that they keep what they were given before they logged in.
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
  // A visitor who belongs to somebody else says nothing about a user who is not known.
  if (asUser && visitor?.isUsers) return unknown(asUser)
  if (asVisitor) return visitor ? known(asVisitor, visitor) : unknown(asVisitor)
  return asUser && unknown(asUser)
}

const known = (identity: Identity, { bucketingId, profileId }: KnownPerson): Subject => ({
  subject: bucketingId,
  identity,
  profileId,
})

const unknown = (identity: Identity): Subject => ({ subject: identity.value, identity, profileId: null })
