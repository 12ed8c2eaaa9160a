import { type Static, Type } from 'typebox'
import { notBlank } from '../schema-parts.ts'

/** Maximum ids in a request, and maximum records that it replays. Another request continues. */
export const MAX_REPLAY_RECORDS = 1_000

const time = (description: string) => Type.Optional(Type.String({ format: 'date-time', description }))

/** The selection of records. Without any, all that were not replayed yet. */
export const replayFilter = {
  ids: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 1_000, ...notBlank }), {
      minItems: 1,
      maxItems: MAX_REPLAY_RECORDS,
    }),
  ),
  from: time('Those since then.'),
  to: time('Those before then.'),
  cursor: Type.Optional(
    Type.String({ maxLength: 1_000, description: 'The `nextCursor` of the previous request.' }),
  ),
}

/** The result of a replay. */
export const ReplayResult = Type.Object({
  replayed: Type.Integer({ description: 'The number of records that were published again.' }),
  stillInvalid: Type.Integer({ description: 'The number of records that would fail again.' }),
  remaining: Type.Integer({ description: 'The number of records that remain, counted up to 10,000.' }),
  unknownIds: Type.Optional(
    Type.Array(Type.String(), { description: 'The `ids` that cannot be those of a record.' }),
  ),
  nextCursor: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
})
export type ReplayResult = Static<typeof ReplayResult>
