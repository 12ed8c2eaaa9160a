import { v5 as uuidv5 } from 'uuid'

/** What a person is known by. */
export type IdentityKind = 'visitor' | 'user'
/** One id that a person is known by in a project. */
export type Identity = { projectId: string; kind: IdentityKind; value: string }

/** The identify that a visitor belongs to its user by: when it was received (RFC 3339), and its record's id. */
export type Link = { at: string; by: string }

/** The id of the profile that is created for an identity: always the same, so that creating it twice is harmless. */
export const profileIdOf = ({ projectId, kind, value }: Identity): string =>
  uuidv5(`${kind}:${value}`, projectId)

/** A visitor as known so far: its profile, whether that is a user's already, and since which identify. */
export type KnownVisitor = { profileId: string; isUsers: boolean; link: Link | null }

/**
 * What becomes of a visitor and a user when one turns out to be the other:
 * - `create`: neither was known; one profile, created for the visitor, is both
 * - `join`: the visitor is new and belongs to the user's profile from the start
 * - `attach`: the user is new and takes over the visitor's anonymous profile, history included
 * - `merge`: the visitor's anonymous profile goes up in the user's
 * - `move`: the visitor was another user's; it belongs to this user from now on and its history stays where it is
 * - `none`: it belongs to this user already, or by a later identify to another one
 */
export type LinkPlan = 'create' | 'join' | 'attach' | 'merge' | 'move' | 'none'

/** Decides what an identify does. `userProfileId` is `null` for a user who was not known. */
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

/** The later of two identifies of one visitor: the one received last, then the one with the greater record id. */
export const laterLink = (link: Link, other: Link | null): Link =>
  other !== null && !isLater(link, other) ? other : link

const isLater = (link: Link, other: Link | null): boolean =>
  other === null || (Date.parse(link.at) - Date.parse(other.at) || (link.by > other.by ? 1 : -1)) > 0
