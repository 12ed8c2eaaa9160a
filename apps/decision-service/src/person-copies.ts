import { type Cache, type ReadValue, readCopy } from '@waymark/cache'
import { compileValidator } from '@waymark/contracts/validator'
import { type Person, personCacheKey, type WantedPerson } from '@waymark/pipeline'
import { type Static, Type } from 'typebox'
import type { Marks } from './person-marks.ts'
import { resultWithin } from './result-within.ts'

/** A person as read, `null` for an unknown identity, and the marks that were set before the read. */
export type ReadPerson = { person: Person | null; marks: Marks }

const NullableString = Type.Unsafe<string | null>({ type: ['string', 'null'] })
/** The copy of a person in the shared cache; `readAt` in ms since the epoch. */
const Copy = Type.Object({
  person: Type.Object({
    profileId: Type.String(),
    bucketingId: Type.String(),
    isUsers: Type.Boolean(),
    traits: Type.Unsafe<Record<string, unknown>>({ type: 'object' }),
    counts: Type.Array(Type.Object({ event: Type.String(), day: Type.String(), n: Type.Number() })),
  }),
  readAt: Type.Number(),
  marks: Type.Object({ identity: NullableString, profile: NullableString }),
})
type Copy = Static<typeof Copy>
const copySchema = compileValidator(Copy)

/** How long a copy is kept for outages of the database, in ms. */
const COPY_TTL_MS = 10 * 60_000

type PersonCopiesDeps = {
  cache: Cache
  /** A clock in ms that never goes back, for ages. */
  now: () => number
  /** In ms since the epoch, the same in all processes, for what they share. */
  clock: () => number
  timeoutMs: number
}

/** Copies of people that all processes share. */
export const createPersonCopies = ({ cache, now, clock, timeoutMs }: PersonCopiesDeps) => ({
  /** `null` when there is none, or the cache does not answer in time. */
  read: async (wanted: WantedPerson): Promise<Required<ReadValue<ReadPerson>> | null> => {
    const copy = await resultWithin(timeoutMs, readCopy(cache, personCacheKey(wanted), copySchema))
    if (!copy) return null
    const ageMs = clock() - copy.readAt
    // A time in the future comes from a wrong clock, so the age is unknown.
    const readAt = ageMs < 0 ? Number.NEGATIVE_INFINITY : now() - ageMs
    return { value: { person: copy.person, marks: copy.marks }, readAt }
  },
  share: (wanted: WantedPerson, { person, marks }: ReadPerson, readAt: number): void => {
    // An unknown identity may be known in a moment.
    if (!person) return
    const copy: Copy = { person, readAt: clock() - (now() - readAt), marks }
    void cache.set(personCacheKey(wanted), JSON.stringify(copy), COPY_TTL_MS)
  },
})
