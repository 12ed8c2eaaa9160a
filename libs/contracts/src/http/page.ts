import { type TSchema, Type } from 'typebox'
import { notBlank } from '../schema-parts.ts'

/** Default and maximum number of records on a page. */
const DEFAULT_PAGE_LIMIT = 50
const MAX_PAGE_LIMIT = 500
/** Maximum JSON of the records on a page, in bytes. A page ends early where the next record would exceed it. */
export const MAX_PAGE_BYTES = 4 * 1024 * 1024

/** The query parameters of every list. */
export const pageParameters = {
  limit: Type.Integer({
    minimum: 1,
    maximum: MAX_PAGE_LIMIT,
    default: DEFAULT_PAGE_LIMIT,
    description:
      'The maximum number of records on a page. A page also ends after 4 MiB of records. Continue with `nextCursor`.',
  }),
  cursor: Type.Optional(
    Type.String({ maxLength: 1_000, description: 'The `nextCursor` of the previous page.' }),
  ),
}
export const PageQuery = Type.Object(pageParameters)

/** A page of a list. `nextCursor` is null on the last one. */
export const pageOf = <S extends TSchema>(item: S) =>
  Type.Object({
    data: Type.Array(item),
    nextCursor: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
  })

/** A parameter that must equal an id or a name. PostgreSQL refuses U+0000 in any text. */
export const equalTo = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 200, ...notBlank, description }))
