import type { SharedMarks } from '@waymark/cache'
import type { Identity } from '@waymark/domain/identity'
import { identityMark, isQueuedMark, profileMark } from '@waymark/pipeline'
import DataLoader from 'dataloader'
import { resultWithin } from './result-within.ts'

/** The change marks on an identity and on its profile, `null` for none. */
export type Marks = { identity: string | null; profile: string | null }

export const NO_MARKS: Marks = { identity: null, profile: null }

export const areEqual = (a: Marks, b: Marks): boolean => a.identity === b.identity && a.profile === b.profile

/** Whether an accepted change is not applied yet. */
export const isQueued = ({ identity }: Marks): boolean => isQueuedMark(identity ?? undefined)

/** Reads the marks on an identity and on a profile that it may belong to; undefined when that takes too long. */
export type ReadMarks = (identity: Identity, profileId: string | undefined) => Promise<Marks | undefined>

/** Requests per command. */
const MAX_BATCH = 500

/** All requests of a turn of the event loop share one command. */
export const createReadMarks = (marks: SharedMarks, timeoutMs: number): ReadMarks => {
  const loader = new DataLoader<readonly string[], readonly (string | undefined)[] | undefined>(
    async (groups) => {
      const all = await resultWithin(timeoutMs, marks.read(groups.flat()))
      let start = 0
      return groups.map((group) => {
        const end = start + group.length
        const found = all?.slice(start, end)
        start = end
        return found
      })
    },
    { cache: false, maxBatchSize: MAX_BATCH, batchScheduleFn: setImmediate },
  )
  return async (identity, profileId) => {
    const keys = [identityMark(identity)]
    if (profileId !== undefined) keys.push(profileMark(profileId))
    const found = await loader.load(keys)
    return found && { identity: found[0] ?? null, profile: found[1] ?? null }
  }
}
