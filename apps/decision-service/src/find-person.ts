import {
  type Cache,
  type CachedValue,
  createReadThroughCache,
  type ReadValue,
  readCopy,
  type SharedMarks,
} from '@waymark/cache'
import { compileValidator, type Log } from '@waymark/contracts'
import { type Identity, type KnownPerson, runAsProcess } from '@waymark/domain'
import {
  findPeople,
  identityMark,
  isQueuedMark,
  type Person,
  personCacheKey,
  profileMark,
  type WantedPerson,
} from '@waymark/pipeline'
import DataLoader from 'dataloader'
import type { Pool } from 'pg'
import { type Static, Type } from 'typebox'

/** A person, if known. `late`: the stores did not answer in time, or a change of the person is still queued. */
export type FoundPerson = { person: Person | undefined; late: boolean }
/** Finds the person that an identity belongs to, within about 100 ms. Never rejects. */
export type FindPerson = (wanted: WantedPerson) => Promise<FoundPerson>

/** The change marks on an identity and on its profile, `null` for none. */
type Marks = { identity: string | null; profile: string | null }
/** A person as read, `null` for an unknown identity, and the marks that were set before the read. */
type ReadPerson = { person: Person | null; marks: Marks }

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

const MAX_PEOPLE = 50_000
/** People per statement. */
const MAX_BATCH = 500
/** How old a person may be, in ms. */
const TTL_MS = 5_000
/** The age from which a requested person is read again in the background, in ms. */
const REFRESH_AHEAD_MS = 4_000
/** How long people are collected for one background read, in ms. */
const REFRESH_LINGER_MS = 50
/** How long a copy is kept for outages of the database, in ms. */
const COPY_TTL_MS = 10 * 60_000
const CACHE_TIMEOUT_MS = 15
const DATABASE_TIMEOUT_MS = 50
/** Failed statements in a row after which the database is not queried for `RETRY_COOLDOWN_MS`. */
const MAX_FAILURES = 3
const RETRY_COOLDOWN_MS = 1_500

type FindPersonDeps = {
  pool: Pool
  cache: Cache
  marks: SharedMarks
  log: Log
  /** A clock in ms that never goes back, for ages. */
  now: () => number
  /** In ms since the epoch, the same in all processes, for what they share. */
  clock: () => number
}

/** A person to read from the database, the marks on it, and the profile whose mark was read. */
type ToRead = { wanted: WantedPerson; marks: Marks; expected: string | undefined }

/** A person to look for, and how old a copy of it may be, in ms. */
type LookUp = { wanted: WantedPerson; maxAgeMs: number }

/** A person could not be read. `marksKnown`: the marks were read and showed that the cached person is outdated. */
class PersonUnavailableError extends Error {
  readonly marksKnown: boolean
  constructor(marksKnown: boolean) {
    super('The database did not answer in time')
    this.marksKnown = marksKnown
  }
}

/**
 * Finds people in memory, in the shared cache, or in the database, where concurrent look-ups share one statement. A frequent
 * person is refreshed in the background before it expires.
 *
 * Every change of a person sets a mark on the identity and on the profile before it is answered. A cached person is used
 * only while the marks are those that were set when it was read, so that a decision sees every answered change. While
 * marks cannot be read, every person is read from the database.
 *
 * While the database is unavailable or slow, a cached person of any age is used, so that people keep their variants. Its
 * traits and counts are dropped unless they may still be current.
 */
export const createFindPerson = ({ pool, cache, marks, log, now, clock }: FindPersonDeps): FindPerson => {
  let failures = 0
  let retryAt = 0

  const ageOf = ({ readAt }: { readAt: number }): number => now() - readAt

  /** Reads concurrent marks with one command; undefined when that takes too long. */
  const marksLoader = new DataLoader<readonly string[], readonly (string | undefined)[] | undefined>(
    async (groups) => {
      const all = await resultWithin(CACHE_TIMEOUT_MS, marks.read(groups.flat()))
      let index = 0
      return groups.map((group) => {
        const start = index
        index += group.length
        return all?.slice(start, index)
      })
    },
    { cache: false, maxBatchSize: MAX_BATCH, batchScheduleFn: setImmediate },
  )
  const readMarks = async (identity: Identity, profileId: string | undefined): Promise<Marks | undefined> => {
    const keys = [identityMark(identity)]
    if (profileId !== undefined) keys.push(profileMark(profileId))
    const found = await marksLoader.load(keys)
    return found && { identity: found[0] ?? null, profile: found[1] ?? null }
  }

  const readCopyOf = async (wanted: WantedPerson): Promise<Required<ReadValue<ReadPerson>> | null> => {
    const copy = await resultWithin(CACHE_TIMEOUT_MS, readCopy(cache, personCacheKey(wanted), copySchema))
    if (!copy) return null
    const ageMs = clock() - copy.readAt
    // A time in the future comes from a wrong clock, so the age is unknown.
    const readAt = ageMs < 0 ? Number.NEGATIVE_INFINITY : now() - ageMs
    return { value: { person: copy.person, marks: copy.marks }, readAt }
  }
  const shareCopy = (wanted: WantedPerson, { person, marks }: ReadPerson, readAt: number): void => {
    // An unknown identity may be known in a moment.
    if (!person) return
    const copy: Copy = { person, readAt: clock() - (now() - readAt), marks }
    void cache.set(personCacheKey(wanted), JSON.stringify(copy), COPY_TTL_MS)
  }

  const queryPeople = async (
    toRead: readonly ToRead[],
    readAt: number,
  ): Promise<[WantedPerson, ReadPerson][]> => {
    // One statement for the people of many projects.
    const found = await runAsProcess(() =>
      findPeople(
        pool,
        toRead.map(({ wanted }) => wanted),
      ),
    )
    return toRead.map(({ wanted, marks, expected }, index) => {
      const person = found[index] ?? null
      // The mark of an unexpected profile was not read. If it has one, the person is read again.
      const profile = person !== null && person.profileId === expected ? marks.profile : null
      const known = { person, marks: { identity: marks.identity, profile } }
      shareCopy(wanted, known, readAt)
      return [wanted, known]
    })
  }

  /** Undefined when the database is cooling down, fails or is late. A late result is cached all the same. */
  const readDatabase = async (
    toRead: readonly ToRead[],
    readAt: number,
  ): Promise<ReadPerson[] | undefined> => {
    if (now() < retryAt) return undefined
    // After a pause one statement tries the database, and no others wait for it.
    if (failures >= MAX_FAILURES) retryAt = now() + RETRY_COOLDOWN_MS
    const cacheAll = (found: [WantedPerson, ReadPerson][]): void => {
      for (const [wanted, known] of found) people.set(personCacheKey(wanted), known, readAt)
    }
    const reading = queryPeople(toRead, readAt)
    try {
      const found = await resultWithin(DATABASE_TIMEOUT_MS, reading)
      if (!found) throw new Error(`The database did not answer within ${DATABASE_TIMEOUT_MS} ms`)
      failures = 0
      retryAt = 0
      return found.map(([, known]) => known)
    } catch (error) {
      reading.then(cacheAll, () => {})
      failures += 1
      if (failures >= MAX_FAILURES) retryAt = now() + RETRY_COOLDOWN_MS
      log.warn({ err: error, failures }, 'Profile lookup failed; deciding without traits')
      return undefined
    }
  }

  const lookUp = async ({ wanted, maxAgeMs }: LookUp) => {
    const copy = await readCopyOf(wanted)
    const known = copy?.value ?? people.peek(personCacheKey(wanted))?.value
    const expected = known?.person?.profileId
    const marks = await readMarks(wanted, expected)
    const isCurrent = copy && marks && ageOf(copy) < maxAgeMs && areEqual(copy.value.marks, marks)
    return { wanted, expected, marks, current: isCurrent ? copy : undefined }
  }

  const readBatch = async (lookUps: readonly LookUp[]): Promise<(ReadValue<ReadPerson> | Error)[]> => {
    const startedAt = now()
    const looks = await Promise.all(lookUps.map(lookUp))
    const missing = looks.filter(({ current }) => current === undefined)
    const toRead = missing.map(({ wanted, expected, marks = NO_MARKS }) => ({ wanted, expected, marks }))
    const read = toRead.length === 0 ? [] : await readDatabase(toRead, startedAt)
    const readOf = new Map(missing.map((one, index) => [one, read?.[index]]))
    return looks.map((one) => {
      if (one.current) return one.current
      const value = readOf.get(one)
      return value ? { value, readAt: startedAt } : new PersonUnavailableError(one.marks !== undefined)
    })
  }

  /** Look-ups share a read that has not begun. Later ones start another, since a change may have been answered since. */
  const loader = new DataLoader<LookUp, ReadValue<ReadPerson>, string>(
    (lookUps) => {
      for (const request of lookUps) loader.clear(request)
      return readBatch(lookUps)
    },
    {
      cacheKeyFn: ({ wanted, maxAgeMs }) => `${maxAgeMs}:${personCacheKey(wanted)}`,
      maxBatchSize: MAX_BATCH,
      batchScheduleFn: setImmediate,
    },
  )

  const people = createReadThroughCache<ReadPerson, [LookUp]>({
    name: 'people',
    read: (_key, request) => loader.load(request),
    readCopy: (_key, { wanted }) => readCopyOf(wanted),
    isCurrent: (_known, readAt) => ageOf({ readAt }) < TTL_MS,
    max: MAX_PEOPLE,
    now,
  })

  /** What may be said of a person that could not be read. */
  const stale = ({ value: { person }, readAt, error }: CachedValue<ReadPerson>): FoundPerson => {
    if (!person) return { person: undefined, late: true }
    const marksKnown = !(error instanceof PersonUnavailableError) || error.marksKnown
    const maybeCurrent = !marksKnown && ageOf({ readAt }) < TTL_MS
    return { person: maybeCurrent ? person : withoutPast(person), late: true }
  }

  const read = async (wanted: WantedPerson): Promise<FoundPerson> => {
    const request = { wanted, maxAgeMs: TTL_MS }
    const known = await people.getLatest(personCacheKey(wanted), request).catch(() => null)
    if (known === null) return { person: undefined, late: true }
    if (known.error !== undefined) return stale(known)
    return { person: known.value.person ?? undefined, late: isQueued(known.value.marks) }
  }

  const toRefresh = new Map<string, WantedPerson>()
  const refreshAll = (): void => {
    for (const [key, wanted] of toRefresh)
      people.getLatest(key, { wanted, maxAgeMs: REFRESH_AHEAD_MS }).catch(() => {})
    toRefresh.clear()
  }
  const refreshSoon = (wanted: WantedPerson): void => {
    if (toRefresh.size === 0) setTimeout(refreshAll, REFRESH_LINGER_MS)
    toRefresh.set(personCacheKey(wanted), wanted)
  }

  return async (wanted) => {
    const known = people.peek(personCacheKey(wanted))
    if (known === undefined || ageOf(known) >= TTL_MS) return read(wanted)
    const { person, marks } = known.value
    const currentMarks = await readMarks(wanted, person?.profileId)
    // The person may have expired while the marks were read.
    const isCurrent = currentMarks && areEqual(marks, currentMarks) && ageOf(known) < TTL_MS
    if (!isCurrent) return read(wanted)
    if (ageOf(known) >= REFRESH_AHEAD_MS) refreshSoon(wanted)
    return { person: person ?? undefined, late: isQueued(currentMarks) }
  }
}

const NO_MARKS: Marks = { identity: null, profile: null }

const areEqual = (a: Marks, b: Marks): boolean => a.identity === b.identity && a.profile === b.profile

/** Whether an accepted change is not applied yet. */
const isQueued = ({ identity }: Marks): boolean => isQueuedMark(identity ?? undefined)

const withoutPast = ({ profileId, bucketingId, isUsers }: KnownPerson): Person => ({
  profileId,
  bucketingId,
  isUsers,
  traits: {},
  counts: [],
})

/** The result of `work`, or undefined when it takes longer than `ms`. */
const resultWithin = <T>(ms: number, work: Promise<T>): Promise<T | undefined> =>
  new Promise((resolve, reject) => {
    // Unlike `within` of the contracts, it takes an answer that was waiting in the event loop while the process paused.
    const timer = setTimeout(() => setImmediate(resolve, undefined), ms)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
