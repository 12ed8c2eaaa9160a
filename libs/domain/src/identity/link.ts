import { v5 as uuidv5 } from 'uuid'

/** The kinds of ids of a person. */
export type IdentityKind = 'visitor' | 'user'
/** An id of a person in a project. */
export type Identity = { projectId: string; kind: IdentityKind; value: string }

const DAILY_PREFIX = 'wm:day:'

/** The id of a visitor of one day, of whom nothing but a hash is known. */
export const dailyVisitorId = (hash: string): string => DAILY_PREFIX + hash

/** Whether an id is one of `dailyVisitorId`. Such a visitor has no profile, because nobody returns with the id. */
export const isDailyVisitor = (visitorId: string): boolean => visitorId.startsWith(DAILY_PREFIX)

/** The identify call that linked a visitor to its user: when it was received or, for one of the past, when it happened (RFC 3339), and its record id. */
export type Link = { at: string; by: string }

/** The id of a new profile for an identity. It is deterministic, so that creating it is idempotent. */
export const profileIdOf = ({ projectId, kind, value }: Identity): string =>
  uuidv5(`${kind}:${value}`, projectId)

/** A known visitor: its profile, whether that belongs to a user, and by which identify call. */
type KnownVisitor = { profileId: string; isUsers: boolean; link: Link | null }

/**
 * What happens when a visitor is identified as a user:
 * - `create`: neither is known; both get one new profile, created for the visitor
 * - `join`: the visitor is new and gets the user's profile
 * - `attach`: the user is new and takes over the visitor's anonymous profile, history included
 * - `merge`: the visitor's anonymous profile is merged into the user's
 * - `move`: the visitor belonged to another user; it moves to this user, but its history stays
 * - `none`: the visitor already belongs to this user, or by a later identify call to another one
 */
export type LinkPlan = 'create' | 'join' | 'attach' | 'merge' | 'move' | 'none'

/** Determines the effect of an identify call. `userProfileId` is `null` for an unknown user. */
export const planLink = (
  visitor: KnownVisitor | null,
  userProfileId: string | null,
  link: Link,
): LinkPlan => {
  if (visitor === null) return userProfileId === null ? 'create' : 'join'
  if (!visitor.isUsers) return userProfileId === null ? 'attach' : 'merge'
  if (visitor.profileId === userProfileId) return 'none'
  return isLater(link, visitor.link) ? 'move' : 'none'
}

/** The later of two identify calls of a visitor, by time and then by record id. */
export const laterLink = (link: Link, other: Link | null): Link =>
  other !== null && !isLater(link, other) ? other : link

const isLater = (link: Link, other: Link | null): boolean =>
  other === null || (Date.parse(link.at) - Date.parse(other.at) || (link.by > other.by ? 1 : -1)) > 0
