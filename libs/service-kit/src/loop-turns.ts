/** How long work runs before it yields to the event loop, in ms. */
const TURN_MS = 10

// One queue for the process: each turn of the event loop resumes one piece of work.
const waiting: (() => void)[] = []

const resumeNext = (): void => {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(resumeNext)
}

/** Divides long synchronous work into turns of the event loop, so that it does not block other requests. */
export class LoopTurns {
  #until = performance.now() + TURN_MS
  #hasBegun = false

  /** Whether the work must yield: its turn took too long, or it is new and other work waits. */
  isOver(): boolean {
    const mustQueue = !this.#hasBegun && waiting.length > 0
    this.#hasBegun = true
    return mustQueue || performance.now() >= this.#until
  }

  /** Resolves when the work may continue. */
  async next(): Promise<void> {
    await new Promise<void>((resolve) => {
      if (waiting.length === 0) setImmediate(resumeNext)
      waiting.push(resolve)
    })
    this.#until = performance.now() + TURN_MS
  }
}
