import { canonicalAddress } from '@waymark/contracts/email-address'

/** What a provider says about a user. */
export type ProviderUser = {
  subject: string
  /** In canonical form; null unless the provider has verified it. */
  email: string | null
  name: string | null
  groups: readonly string[]
  /** The `sid` of the provider's session. */
  providerSessionId: string | null
  /** When the provider asked the user to sign in, in ms; null when it does not say. */
  signedInAt: number | null
}

type Claims = Readonly<Record<string, unknown>>

const MAX_LENGTH = 254
const MAX_NAME_LENGTH = 200
const MAX_GROUPS = 1_000
const MAX_GROUP_LENGTH = 200

/** The longest `sub` that OpenID Connect allows, which is an index of the database too. */
const MAX_SUBJECT_LENGTH = 255
const MAX_TIME_MS = 8.64e15

/** Whether the database can store a text as it is. */
export const isStorableId = (text: string): boolean =>
  text !== '' && text.length <= MAX_SUBJECT_LENGTH && !/\p{Cc}/u.test(text) && text.isWellFormed()

/**
 * Reads the claims of an ID token, or of an ID token and the user info.
 * @throws Error when `sub` is not one that OpenID Connect allows
 */
export const readClaims = (claims: Claims, groupsClaim: string): ProviderUser => ({
  subject: subjectOf(claims.sub),
  email: verifiedEmail(claims),
  name: textOf(claims.name, MAX_NAME_LENGTH),
  groups: groupsOf(claims[groupsClaim]),
  providerSessionId: textOf(claims.sid, MAX_LENGTH),
  signedInAt: timeOf(claims.auth_time),
})

const subjectOf = (sub: unknown): string => {
  if (typeof sub === 'string' && isStorableId(sub)) return sub
  throw new Error(`sub must be 1 to ${MAX_SUBJECT_LENGTH} characters without control characters`)
}

const timeOf = (seconds: unknown): number | null =>
  typeof seconds === 'number' && Math.abs(seconds * 1_000) <= MAX_TIME_MS ? seconds * 1_000 : null

/** The name for an account: that of the claims, else the part of the address before its `@`. */
export const accountName = ({ name, email }: Pick<ProviderUser, 'name' | 'email'>): string =>
  name ?? email?.split('@', 1)[0] ?? 'New user'

// Microsoft Entra has no `email_verified`; its optional claim says that the owner of the address's domain is verified.
const verifiedEmail = ({ email, email_verified: verified, xms_edov: edov }: Claims): string | null => {
  const isVerified =
    verified === true || (verified === undefined && (edov === true || edov === 1 || edov === '1'))
  return isVerified && typeof email === 'string' ? (canonicalAddress(email) ?? null) : null
}

const textOf = (value: unknown, maxLength: number): string | null => {
  if (typeof value !== 'string') return null
  const text = value.replace(/\p{Cc}/gu, '').trim()
  return text === '' ? null : text.slice(0, maxLength).toWellFormed()
}

const groupsOf = (value: unknown): readonly string[] =>
  [value]
    .flat()
    .filter((group) => typeof group === 'string')
    .filter((group) => group.length <= MAX_GROUP_LENGTH && !group.includes('\0') && group.isWellFormed())
    .slice(0, MAX_GROUPS)
