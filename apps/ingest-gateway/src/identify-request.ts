import {
  AppError,
  type IdentifyRequest,
  identifyRequest,
  type ProfileRequest,
  profileRequest,
  type Validator,
} from '@waymark/contracts'
import { type IdentityKind, memberSize, traitsProblem } from '@waymark/domain'

/** Traits as sent, within the limits; which of them may be stored is yet to be seen. */
type SentTraits = { traits: Record<string, unknown> }
/** A visitor who turned out to be a user. */
export type Identify = SentTraits & { visitorId: string; userId: string }
/** Traits for the profile of a visitor or user. */
export type ProfileWrite = SentTraits & { kind: IdentityKind; value: string }

/**
 * Reads the body of an identify.
 * @param raw the bytes that it was parsed from: traits are measured as they were sent
 * @throws AppError bad_request
 */
export const parseIdentify = (body: unknown, raw: Uint8Array): Identify => {
  const { visitorId, userId, traits }: IdentifyRequest = requireValid(identifyRequest, body)
  return { visitorId, userId, traits: requireUsable(traits ?? {}, raw) }
}

/**
 * Reads the body of a profile write; with both ids the user's profile is meant.
 * @param raw the bytes that it was parsed from: traits are measured as they were sent
 * @throws AppError bad_request
 */
export const parseProfileWrite = (body: unknown, raw: Uint8Array): ProfileWrite => {
  const { userId, visitorId, traits }: ProfileRequest = requireValid(profileRequest, body)
  const person = personIn(userId, visitorId)
  if (!person) throw new AppError('bad_request', 'userId or visitorId is required')
  return { ...person, traits: requireUsable(traits, raw) }
}

type OptionalId = string | null | undefined
type Person = { kind: IdentityKind; value: string }

const personIn = (userId: OptionalId, visitorId: OptionalId): Person | undefined => {
  if (typeof userId === 'string') return { kind: 'user', value: userId }
  return typeof visitorId === 'string' ? { kind: 'visitor', value: visitorId } : undefined
}

const requireValid = <T>(validator: Validator<T>, body: unknown): T => {
  if (validator.fits(body)) return body
  const { field = '', rule, message = 'is invalid' } = validator.check(body) ?? {}
  // The schema's own words for it would be no help.
  const reason = rule === 'not' ? 'looks like a bug in the client' : message
  throw new AppError('bad_request', field === '' ? `The body ${reason}` : `${field} ${reason}`)
}

const requireUsable = (traits: Record<string, unknown>, raw: Uint8Array): Record<string, unknown> => {
  const problem = traitsProblem(traits, memberSize(raw, 'traits') ?? 0)
  if (problem) throw new AppError('bad_request', problem)
  return traits
}
