import { setImmediate as immediate } from 'node:timers/promises'
import { currentWork } from './current-work.ts'
import { createFairQueue } from './fair-queue.ts'

/** How long work runs before it yields to the event loop, in ms. */
const TURN_MS = 10

// One queue for the process: each turn of the event loop resumes one piece of work, of each tenant in turn.
const pieces = createFairQueue({ what: 'turns', capacity: 1 })
let waiting = 0

const nextTurn = async (): Promise<void> => {
  waiting++
  await immediate()
  const release = await pieces.acquire(currentWork()?.owner, { patient: true })
  waiting--
  setImmediate(release)
}

/** Divides long synchronous work into turns of the event loop, so that it does not block other requests. */
export class LoopTurns {
  #until = performance.now() + TURN_MS
  #hasBegun = false

  /** Whether the work must yield: its turn took too long, or it is new and other work waits. */
  isOver(): boolean {
    const mustQueue = !this.#hasBegun && waiting > 0
    this.#hasBegun = true
    return mustQueue || performance.now() >= this.#until
  }

  /** Resolves when the work may continue. */
  async next(): Promise<void> {
    await nextTurn()
    this.#until = performance.now() + TURN_MS
  }
}
