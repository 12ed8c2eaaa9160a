import type { Log } from '@waymark/contracts/log'
import { runAsProcess } from '@waymark/domain/fairness'
import { findPeople, type WantedPerson } from '@waymark/pipeline'
import type { Pool } from 'pg'
import type { ReadPerson } from './person-copies.ts'
import type { Marks } from './person-marks.ts'
import { resultWithin } from './result-within.ts'

/** A person to read from the database, the marks on it, and the profile whose mark was read. */
export type ToRead = { wanted: WantedPerson; marks: Marks; expected: string | undefined }

const TIMEOUT_MS = 50
/** Failed statements in a row after which the database is not queried for `RETRY_COOLDOWN_MS`. */
const MAX_FAILURES = 3
const RETRY_COOLDOWN_MS = 1_500

type ReadPeopleDeps = {
  pool: Pool
  log: Log
  now: () => number
  /** Called for each person that was read. */
  onRead: (wanted: WantedPerson, read: ReadPerson, readAt: number) => void
  /** Called for each person that was read too late for the caller. */
  onLateRead: (wanted: WantedPerson, read: ReadPerson, readAt: number) => void
}

/** Reads people with one statement; undefined when the database is cooling down, fails or is late. */
export type ReadPeople = (toRead: readonly ToRead[], readAt: number) => Promise<ReadPerson[] | undefined>

export const createReadPeople = ({ pool, log, now, onRead, onLateRead }: ReadPeopleDeps): ReadPeople => {
  let failures = 0
  let retryAt = 0

  const query = async (toRead: readonly ToRead[], readAt: number): Promise<ReadPerson[]> => {
    const wanted = toRead.map((one) => one.wanted)
    // One statement for the people of many projects.
    const found = await runAsProcess(() => findPeople(pool, wanted))
    return toRead.map(({ wanted, marks, expected }, index) => {
      const person = found[index] ?? null
      // The mark of an unexpected profile was not read. If it has one, the person is read again.
      const profile = person !== null && person.profileId === expected ? marks.profile : null
      const read = { person, marks: { identity: marks.identity, profile } }
      onRead(wanted, read, readAt)
      return read
    })
  }

  return async (toRead, readAt) => {
    if (now() < retryAt) return undefined
    // After a pause one statement tries the database, and no others wait for it.
    if (failures >= MAX_FAILURES) retryAt = now() + RETRY_COOLDOWN_MS
    const reading = query(toRead, readAt)
    try {
      const read = await resultWithin(TIMEOUT_MS, reading)
      if (!read) throw new Error(`The database did not answer within ${TIMEOUT_MS} ms`)
      failures = 0
      retryAt = 0
      return read
    } catch (error) {
      const keepLate = (read: ReadPerson[]): void => {
        for (const [index, { wanted }] of toRead.entries()) {
          const late = read[index]
          if (late) onLateRead(wanted, late, readAt)
        }
      }
      reading.then(keepLate, () => {})
      failures += 1
      if (failures >= MAX_FAILURES) retryAt = now() + RETRY_COOLDOWN_MS
      log.warn({ err: error, failures }, 'Profile lookup failed; deciding without traits')
      return undefined
    }
  }
}
