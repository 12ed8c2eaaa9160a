import { type Static, Type } from 'typebox'
import { PLACEHOLDER_KEYWORD } from '../placeholder-id.ts'
import { MAX_ID_LENGTH, PRINTABLE } from '../schema-parts.ts'
import { compileValidator } from '../validator.ts'

/** Maximum traits of a request: the UTF-8 length of their JSON as sent. */
export const MAX_TRAITS_BYTES = 8192
/** Maximum nesting of traits. The traits object itself is level 1. */
export const MAX_TRAITS_DEPTH = 2
/** Maximum traits of a profile: the UTF-8 length of their JSON. */
export const MAX_PROFILE_TRAITS_BYTES = 65_536
/** Maximum characters of a trait's name. Longer ones are dropped. */
export const MAX_TRAIT_NAME_LENGTH = 64
/** Maximum size of an identify or profile request after decompression, in bytes. */
export const MAX_IDENTIFY_BODY_BYTES = 1024 * 1024

const personId = (description: string) => ({
  minLength: 1,
  maxLength: MAX_ID_LENGTH,
  ...PRINTABLE,
  [PLACEHOLDER_KEYWORD]: true,
  description: `${description} A placeholder such as \`undefined\` or \`None\` is refused.`,
})
const id = (description: string) => Type.String(personId(description))
/** An optional id. Null is the same as a missing one. */
export const optionalId = (description: string) =>
  Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'], ...personId(description) }))

const UserHash = Type.Optional(
  Type.Unsafe<string | null>({
    type: ['string', 'null'],
    maxLength: 200,
    description:
      'Proves `userId` in a request with a `pub` key: the HMAC-SHA-256 of the user id with the project’s ' +
      'identity secret, as hex, computed by your server. A wrong value is refused with 403.',
  }),
)

const TRAITS =
  'The traits to write. `null` removes a trait. `email`, `phone`, `name`, `locale` and `timezone` must be ' +
  'strings. At most 8,192 bytes and 2 levels, including the object itself. A profile stores at most 65,536 ' +
  'bytes.'

/** Traits in the API. */
export const Traits = Type.Unsafe<Record<string, unknown>>({ type: 'object', description: TRAITS })
export type Traits = Static<typeof Traits>

/** The body of `POST /api/v1/identify`. */
export const IdentifyRequest = Type.Object(
  {
    visitorId: id('The visitor who turned out to be the user.'),
    userId: id('The user.'),
    userHash: UserHash,
    traits: Type.Optional(
      Type.Unsafe<Record<string, unknown> | null>({ type: ['object', 'null'], description: TRAITS }),
    ),
  },
  { additionalProperties: false, description: 'Links a visitor to a user.' },
)
export type IdentifyRequest = Static<typeof IdentifyRequest>
export const identifyRequest = compileValidator(IdentifyRequest)

const DroppedKeys = Type.Array(Type.String(), {
  description:
    'Traits that were not stored: those with a name that begins with `$` or `_`, has over 64 characters or is' +
    ' reserved; known traits of the wrong type; traits that the project denies; and, for a `pub` key without ' +
    '`userHash`, an `email` or `phone` that a `sec` key has written. An identify that was only queued does ' +
    'not report the last ones.',
})

/** 202, or 200 with the sync selector: it applies to events that are sent from now on. */
export const IdentifyResult = Type.Object({ ok: Type.Literal(true), dropped_keys: DroppedKeys })
export type IdentifyResult = Static<typeof IdentifyResult>

/** The body of `PUT /api/v1/profile`: one of the two ids. With both, the user's profile is written. */
export const ProfileRequest = Type.Object(
  {
    userId: optionalId('The user whose profile it is.'),
    visitorId: optionalId('The visitor whose profile it is, when there is no userId.'),
    userHash: UserHash,
    traits: Traits,
  },
  { additionalProperties: false, description: 'The traits to write.' },
)
export type ProfileRequest = Static<typeof ProfileRequest>
export const profileRequest = compileValidator(ProfileRequest)

/** 200: the traits are stored. */
export const ProfileResult = Type.Object({
  ok: Type.Literal(true),
  profileId: Type.Optional(
    Type.String({
      format: 'uuid',
      description: 'Absent for a `pub` key, because it would link ids of the same person.',
    }),
  ),
  traits: Type.Unsafe<Traits>({
    type: 'object',
    description: 'The current traits of the profile. A `pub` key gets only those that the request wrote.',
  }),
  dropped_keys: DroppedKeys,
})
export type ProfileResult = Static<typeof ProfileResult>
