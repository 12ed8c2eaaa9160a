import { setImmediate as immediate } from 'node:timers/promises'
import { currentWork } from './current-work.ts'
import { createFairQueue } from './fair-queue.ts'

/** How long the work of a turn runs before it yields to the event loop, in ms. */
const TURN_MS = 10

// One queue for the process: each turn of the event loop resumes one piece of work, of each tenant in turn.
const pieces = createFairQueue({ what: 'turns', capacity: 1 })

const nextTurn = async (): Promise<void> => {
  await immediate()
  const release = await pieces.acquire(currentWork()?.owner, { patient: true })
  setImmediate(release)
}

let endOfTurn: number | undefined

/** When the work of the present turn has taken long enough, by `performance.now()`. */
const turnEndsAt = (): number => {
  if (endOfTurn === undefined) {
    endOfTurn = performance.now() + TURN_MS
    setImmediate(() => {
      endOfTurn = undefined
    })
  }
  return endOfTurn
}

/**
 * Divides long synchronous work into turns of the event loop, so that it does not block other requests. All work of a turn
 * shares its time: short work runs at once while there is some left.
 */
export class LoopTurns {
  /** Whether the work must yield, because the turn has taken too long. */
  isOver(): boolean {
    return performance.now() >= turnEndsAt()
  }

  /** Resolves when the work may continue. */
  next(): Promise<void> {
    return nextTurn()
  }
}
