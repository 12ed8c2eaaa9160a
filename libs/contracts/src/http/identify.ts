import { type Static, Type } from 'typebox'
import { MAX_ID_LENGTH, PRINTABLE } from '../schema-parts.ts'
import { compileValidator } from '../validator.ts'

/** Bytes of the traits of one request: the UTF-8 length of their JSON as it was sent. */
export const MAX_TRAITS_BYTES = 8192
/** Levels of nesting in traits; the traits object itself is level 1. */
export const MAX_TRAITS_DEPTH = 2
/** Characters of a trait's name; longer ones are dropped. */
export const MAX_TRAIT_NAME_LENGTH = 64
/** Bytes of one identify or profile request, after decompression; traits have a limit of their own. */
export const MAX_IDENTIFY_BODY_BYTES = 1024 * 1024

/** What buggy clients send in place of an id; linking people by it would make all of them one. */
const BUG_IDS = ['undefined', 'null', 'NaN', '[object Object]']

const personId = (description: string) => ({
  minLength: 1,
  maxLength: MAX_ID_LENGTH,
  pattern: PRINTABLE,
  not: { enum: BUG_IDS },
  description,
})
const id = (description: string) => Type.String(personId(description))
/** An id that may be left out; null means the same. */
export const optionalId = (description: string) =>
  Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'], ...personId(description) }))

const TRAITS =
  'What is known of the person. `null` unsets a trait. `email`, `phone`, `name`, `locale` and `timezone` are ' +
  'strings. At most 8,192 bytes and 2 levels, of which the object itself is one.'

/** Traits as they are sent and shown. */
export const Traits = Type.Unsafe<Record<string, unknown>>({ type: 'object', description: TRAITS })
export type Traits = Static<typeof Traits>

/** The body of `POST /api/v1/identify`. Fields that are not listed are ignored. */
export const IdentifyRequest = Type.Object(
  {
    visitorId: id('The visitor who turned out to be the user.'),
    userId: id('The user.'),
    traits: Type.Optional(
      Type.Unsafe<Record<string, unknown> | null>({ type: ['object', 'null'], description: TRAITS }),
    ),
  },
  { description: 'A visitor logged in.' },
)
export type IdentifyRequest = Static<typeof IdentifyRequest>
export const identifyRequest = compileValidator(IdentifyRequest)

const DroppedKeys = Type.Array(Type.String(), {
  description:
    'Traits that were not stored: names that begin with `$` or `_`, have over 64 characters or are reserved, ' +
    'known traits of a wrong type, and what the project denies.',
})

/** 202, or 200 with the sync selector: events sent from now on see it. */
export const IdentifyResult = Type.Object({ ok: Type.Literal(true), dropped_keys: DroppedKeys })
export type IdentifyResult = Static<typeof IdentifyResult>

/** The body of `PUT /api/v1/profile`: one of the two ids; with both, the user's profile is meant. */
export const ProfileRequest = Type.Object(
  {
    userId: optionalId('The user whose profile it is.'),
    visitorId: optionalId('The visitor whose profile it is, when there is no userId.'),
    traits: Traits,
  },
  { description: 'Traits of a person.' },
)
export type ProfileRequest = Static<typeof ProfileRequest>
export const profileRequest = compileValidator(ProfileRequest)

/** 200: the traits are stored. */
export const ProfileResult = Type.Object({
  ok: Type.Literal(true),
  profileId: Type.String({ format: 'uuid' }),
  traits: Type.Unsafe<Traits>({
    type: 'object',
    description: 'All that the profile has now; for a `pub` key those that the request named.',
  }),
  dropped_keys: DroppedKeys,
})
export type ProfileResult = Static<typeof ProfileResult>
