import { type Cache, readCopy } from '@waymark/cache'
import { compileValidator, type Log } from '@waymark/contracts'
import type { KnownPerson } from '@waymark/domain'
import { findPeople, type Person, personCacheKey, type Wanted } from '@waymark/pipeline'
import DataLoader from 'dataloader'
import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import { type Static, Type } from 'typebox'

/** Somebody as far as known. `late`: the stores did not answer in time, and what is missing may be known to them. */
export type FoundPerson = { person: Person | undefined; late: boolean }
/** Finds whom an identity belongs to: at once where that is known, and within about 65 ms otherwise; never rejects. */
export type FindPerson = (wanted: Wanted) => FoundPerson | Promise<FoundPerson>

/** What is known of somebody, and when it was read, in ms by `now`. `null`: nobody has been seen by that id. */
type Entry = { person: Person | null; readAt: number }

/** What processes leave each other of somebody; `readAt` in ms since the epoch. */
const Copy = Type.Object({
  person: Type.Object({
    profileId: Type.String(),
    bucketingId: Type.String(),
    isUsers: Type.Boolean(),
    traits: Type.Unsafe<Record<string, unknown>>({ type: 'object' }),
    counts: Type.Array(Type.Object({ event: Type.String(), day: Type.String(), n: Type.Number() })),
  }),
  readAt: Type.Number(),
})
type Copy = Static<typeof Copy>
const copyShape = compileValidator(Copy)

const MAX_PEOPLE = 50_000
/** Most people that are read by one statement. */
const MAX_BATCH = 500
/** How old what is known may be, in ms. */
const FRESH_MS = 5_000
/** From this age on it is read again beside whoever asks, who does not wait, in ms. */
const AHEAD_MS = 4_000
/** How long those gather who are read again without anybody waiting, in ms. */
const AHEAD_LINGER_MS = 50
/** How long a copy is kept for the time when the database is away, in ms: then it tells who somebody is. */
const COPY_MS = 10 * 60_000
const CACHE_DEADLINE_MS = 15
const DATABASE_DEADLINE_MS = 50
/** So many failures in a row, and the database is left alone for a while, in ms. */
const FAILURES = 3
const SPARED_MS = 1_500

export type FindPersonDeps = {
  pool: Pool
  cache: Cache
  log: Log
  /** In ms, by a clock that nobody sets: for how long ago something was read. */
  now: () => number
  /** In ms since the epoch, alike in all processes: for what they share. */
  clock: () => number
}

/**
 * Finds people: in memory, else in the cache, else in the database, all who are asked for at one moment by one
 * statement. Who is asked for again and again is read again before what is known is too old, so that nobody waits.
 *
 * When the database is away or slow, who somebody is counts as remembered, however old, so that they keep their
 * variants; their traits and counts are left out.
 */
export const createFindPerson = ({ pool, cache, log, now, clock }: FindPersonDeps): FindPerson => {
  const entries = new LRUCache<string, Entry>({ max: MAX_PEOPLE })
  let failures = 0
  let sparedUntil = 0

  const ageOf = ({ readAt }: Entry): number => now() - readAt

  const remember = (wanted: Wanted, person: Person | undefined, readAt: number): Entry => {
    const entry = { person: person ?? null, readAt }
    entries.set(personCacheKey(wanted), entry)
    // Who is not known yet may be in a moment, and costs nobody anything.
    if (person) {
      const copy: Copy = { person, readAt: clock() - (now() - readAt) }
      void cache.set(personCacheKey(wanted), JSON.stringify(copy), COPY_MS)
    }
    return entry
  }

  const readCopyOf = async (wanted: Wanted): Promise<Entry | undefined> => {
    const copy = await within(CACHE_DEADLINE_MS, readCopy(cache, personCacheKey(wanted), copyShape))
    if (!copy) return undefined
    const ageMs = clock() - copy.readAt
    // A time that is yet to come is that of a wrong clock: nobody knows how old the copy is.
    return { person: copy.person, readAt: ageMs < 0 ? Number.NEGATIVE_INFINITY : now() - ageMs }
  }

  /** Undefined when the database is not to be asked, fails or is late; what comes late is remembered all the same. */
  const readDatabase = async (wanted: readonly Wanted[]): Promise<Entry[] | undefined> => {
    if (now() < sparedUntil) return undefined
    const readAt = now()
    const reading = findPeople(pool, wanted).then((people) =>
      wanted.map((one, index) => remember(one, people[index], readAt)),
    )
    try {
      const found = await within(DATABASE_DEADLINE_MS, reading)
      if (!found) throw new Error(`the database did not answer within ${DATABASE_DEADLINE_MS} ms`)
      failures = 0
      return found
    } catch (error) {
      reading.catch(() => {})
      failures += 1
      if (failures >= FAILURES) sparedUntil = now() + SPARED_MS
      log.warn({ err: error, failures }, 'people are decided for without their traits')
      return undefined
    }
  }

  const readBatch = async (wanted: readonly Wanted[], maxAgeMs: number): Promise<FoundPerson[]> => {
    const known = await Promise.all(wanted.map(readCopyOf))
    const missing = wanted.filter((_one, index) => !known[index] || ageOf(known[index]) >= maxAgeMs)
    const read = missing.length === 0 ? [] : await readDatabase(missing)
    const readOf = new Map(missing.map((one, index) => [one, read?.[index]]))
    return wanted.map((one, index) => {
      const fresh = readOf.get(one) ?? (readOf.has(one) ? undefined : known[index])
      if (fresh) {
        if (!readOf.has(one)) entries.set(personCacheKey(one), fresh)
        return { person: fresh.person ?? undefined, late: false }
      }
      const stale = entries.get(personCacheKey(one)) ?? known[index]
      return { person: stale?.person ? withoutPast(stale.person) : undefined, late: true }
    })
  }

  /** Many who ask for the same person at one moment share one read. */
  const readingFor = (maxAgeMs: number, schedule: (read: () => void) => void) => {
    const loader = new DataLoader<Wanted, FoundPerson, string>((wanted) => readBatch(wanted, maxAgeMs), {
      cacheKeyFn: personCacheKey,
      maxBatchSize: MAX_BATCH,
      batchScheduleFn: schedule,
    })
    return (wanted: Wanted): Promise<FoundPerson> => loader.load(wanted).finally(() => loader.clear(wanted))
  }
  const read = readingFor(FRESH_MS, setImmediate)
  const readAhead = readingFor(AHEAD_MS, (readAll) => setTimeout(readAll, AHEAD_LINGER_MS))

  return (wanted) => {
    const entry = entries.get(personCacheKey(wanted))
    if (entry === undefined) return read(wanted)
    const ageMs = ageOf(entry)
    if (ageMs >= FRESH_MS) return read(wanted)
    if (ageMs >= AHEAD_MS) void readAhead(wanted)
    return { person: entry.person ?? undefined, late: false }
  }
}

const withoutPast = ({ profileId, bucketingId, isUsers }: KnownPerson): Person => ({
  profileId,
  bucketingId,
  isUsers,
  traits: {},
  counts: [],
})

/** What `work` resolves to, or undefined when it takes longer than `ms`. */
const within = <T>(ms: number, work: Promise<T>): Promise<T | undefined> =>
  new Promise((resolve, reject) => {
    // After a pause of this process the answer may lie there unread: it is looked for before giving up.
    const timer = setTimeout(() => setImmediate(resolve, undefined), ms)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
