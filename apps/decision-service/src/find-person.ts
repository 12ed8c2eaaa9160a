import {
  type Cache,
  type CachedValue,
  createReadThroughCache,
  type ReadValue,
  type SharedMarks,
} from '@waymark/cache'
import type { Log } from '@waymark/contracts/log'
import type { KnownPerson } from '@waymark/domain/decision'
import { type Person, personCacheKey, type WantedPerson } from '@waymark/pipeline'
import DataLoader from 'dataloader'
import type { Pool } from 'pg'
import { createPersonCopies, type ReadPerson } from './person-copies.ts'
import { areEqual, createReadMarks, isQueued, NO_MARKS } from './person-marks.ts'
import { createReadPeople } from './read-people.ts'

/** A person, if known. `late`: the stores did not answer in time, or a change of the person is still queued. */
export type FoundPerson = { person: Person | undefined; late: boolean }
/** Finds the person that an identity belongs to, within about 100 ms. Never rejects. */
export type FindPerson = (wanted: WantedPerson) => Promise<FoundPerson>

const MAX_PEOPLE = 50_000
/** People per statement. */
const MAX_BATCH = 500
/** How old a person may be, in ms. */
const TTL_MS = 5_000
/** The age from which a requested person is read again in the background, in ms. */
const REFRESH_AHEAD_MS = 4_000
/** How long people are collected for one background read, in ms. */
const REFRESH_LINGER_MS = 50
const CACHE_TIMEOUT_MS = 15

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
  const ageOf = ({ readAt }: { readAt: number }): number => now() - readAt
  const readMarks = createReadMarks(marks, CACHE_TIMEOUT_MS)
  const copies = createPersonCopies({ cache, now, clock, timeoutMs: CACHE_TIMEOUT_MS })
  const readPeople = createReadPeople({
    pool,
    log,
    now,
    onRead: copies.share,
    onLateRead: (wanted, read, readAt) => people.set(personCacheKey(wanted), read, readAt),
  })

  const lookUp = async ({ wanted, maxAgeMs }: LookUp) => {
    const copy = await copies.read(wanted)
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
    const read = toRead.length === 0 ? [] : await readPeople(toRead, startedAt)
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
    readCopy: (_key, { wanted }) => copies.read(wanted),
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

const withoutPast = ({ profileId, bucketingId, isUsers }: KnownPerson): Person => ({
  profileId,
  bucketingId,
  isUsers,
  traits: {},
  counts: [],
})
