import type { Moment } from '@waymark/event-store'
import type { Pool } from 'pg'
import { type KnownPerson, readPeople } from './people-queries.ts'

/** People whose traits are read at a time, which bounds the memory that they take. */
const PEOPLE_AT_ONCE = 100

/** Steps of all conditions, of about ten nanoseconds each. Counted, so that results do not depend on the machine. */
export const MAX_STEPS = 200_000_000

/** What a backtest cannot know. */
export type UnknownNote = { code: string; message: string; people?: number }

export const DAY_MS = 24 * 60 * 60 * 1_000

/** The people of moments, which are ordered by person, with their moments. Reads them in portions. */
export async function* peopleOf(
  pool: Pool,
  projectId: string,
  moments: readonly Moment[],
  stop: AbortSignal,
): AsyncGenerator<{ person: KnownPerson; moments: readonly Moment[] }, void, undefined> {
  const all = [...Map.groupBy(moments, ({ profileId }) => profileId)]
  for (let done = 0; done < all.length; done += PEOPLE_AT_ONCE) {
    stop.throwIfAborted()
    const portion = all.slice(done, done + PEOPLE_AT_ONCE)
    const people = await readPeople(
      pool,
      projectId,
      portion.map(([id]) => id),
    )
    for (const [id, own] of portion) {
      const person = people.get(id)
      if (person) yield { person, moments: own }
    }
  }
}

/** Whether any of the traits that are read was written after a time, in ms, so that it may have been another then. */
export const hasNewerTraits = (
  { writes }: KnownPerson,
  names: ReadonlySet<string> | null,
  at: number,
): boolean =>
  Object.entries(writes).some(
    ([name, write]) => (names === null || names.has(name)) && Date.parse(write.at) > at,
  )

/** What traits a backtest read otherwise than they may have been; none when it was nobody's. */
export const newerTraits = (people: number): UnknownNote[] =>
  people === 0
    ? []
    : [
        {
          code: 'traits',
          message:
            'Traits are as of now. These people have traits that were written later than their first event of the period: what they were before is not kept.',
          people,
        },
      ]

/** What every backtest cannot know. */
export const ALWAYS_UNKNOWN: UnknownNote = {
  code: 'people',
  message:
    'People are as they are known now: visitors who became a user since count as that user. Erased people and events without a person do not count.',
}
