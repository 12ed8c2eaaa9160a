import type { Database } from '@waymark/database'
import type { EventWrites } from '@waymark/event-store'

const LOCK = "SELECT pg_try_advisory_xact_lock(hashtextextended('derive-visits', 0)) AS locked"
/** How long a change of a derived day waits, in ms, because more may follow: queries read the changed visitors' events. */
const CHANGES_WAIT_MS = 60 * 60 * 1_000

export type DeriveVisitsDeps = {
  db: Pick<Database, 'transaction'>
  eventStore: Pick<EventWrites, 'deriveVisits'>
  /** The current time in ms. */
  now: () => number
}

/** Derives the visits of one ended day, while no other process does. @returns the number of derived days */
export const createDeriveVisits =
  ({ db, eventStore, now }: DeriveVisitsDeps): (() => Promise<number>) =>
  () =>
    db.transaction(async (client) => {
      const { rows } = await client.query<{ locked: boolean }>(LOCK)
      if (rows[0]?.locked !== true) return 0
      const due = { endedBefore: now(), changedBefore: now() - CHANGES_WAIT_MS }
      return (await eventStore.deriveVisits(due)) ? 1 : 0
    })
