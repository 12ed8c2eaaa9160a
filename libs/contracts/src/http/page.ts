import { type TSchema, Type } from 'typebox'

/** Records on one page of a list, unless asked otherwise, and at most. */
export const DEFAULT_PAGE_LIMIT = 50
export const MAX_PAGE_LIMIT = 500

/** The parameters of every list; spread them into the list's own. */
export const pageParameters = {
  limit: Type.Integer({
    minimum: 1,
    maximum: MAX_PAGE_LIMIT,
    default: DEFAULT_PAGE_LIMIT,
    description: 'Records on a page.',
  }),
  cursor: Type.Optional(Type.String({ maxLength: 1_000, description: '`nextCursor` of the page before.' })),
}
export const PageQuery = Type.Object(pageParameters)

/** One page of a list; `nextCursor` is null on the last. */
export const pageOf = <S extends TSchema>(item: S) =>
  Type.Object({
    data: Type.Array(item),
    nextCursor: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
  })

/** A parameter that must equal an id or a name. PostgreSQL refuses U+0000 in any text, also in one to compare with. */
export const equalTo = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 200, pattern: '^[^\\u0000]*$', description }))
