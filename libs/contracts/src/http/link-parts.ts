import { type Static, type TSchema, Type } from 'typebox'

/** Maximum characters of a destination, before and after normalization. */
export const MAX_DESTINATION_LENGTH = 2_048

/** Where a link or a domain sends visitors. */
export const Destination = Type.String({
  minLength: 1,
  maxLength: MAX_DESTINATION_LENGTH,
  description: 'An absolute http or https URL without credentials.',
})

export const orNull = <S extends TSchema>(schema: S) =>
  Type.Unsafe<Static<S> | null>({ anyOf: [schema, { type: 'null' }] })
