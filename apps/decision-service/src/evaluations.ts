import type { Database } from '@waymark/database'
import { everyMs, type Loop } from '@waymark/service-kit'
import { markEvaluated } from './evaluation-queries.ts'

const WRITE_INTERVAL_MS = 30_000
const DAY_MS = 24 * 60 * 60 * 1_000

type Deps = { db: Pick<Database, 'pool'>; clock: () => number }

/** Notes the days on which decisions are asked for, once a day each, so that unused ones are found. */
export type Evaluations = {
  note: (decisionId: string) => void
  loop: Loop
}

export const createEvaluations = ({ db, clock }: Deps): Evaluations => {
  let day = 0
  let written = new Set<string>()
  let noted = new Set<string>()

  const write = async (): Promise<void> => {
    const today = Math.floor(clock() / DAY_MS)
    if (today !== day) {
      day = today
      written = new Set()
    }
    const ids = [...noted].filter((id) => !written.has(id))
    noted = new Set()
    if (ids.length === 0) return
    try {
      await markEvaluated(db.pool, ids, new Date(today * DAY_MS))
    } catch (error) {
      for (const id of ids) noted.add(id)
      throw error
    }
    for (const id of ids) written.add(id)
  }

  return {
    note: (decisionId) => {
      noted.add(decisionId)
    },
    loop: everyMs('evaluations', WRITE_INTERVAL_MS, write),
  }
}
