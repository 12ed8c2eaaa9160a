/** How long work goes on before it lets the event loop answer others, in ms. */
const TURN_MS = 10

// One queue for the process: of those that wait, each turn of the loop lets one go on, however many they are.
const waiting: (() => void)[] = []

const letNextGoOn = (): void => {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(letNextGoOn)
}

/** Divides long synchronous work into turns of the event loop, so that other requests and health probes get theirs. */
export class LoopTurns {
  #until = performance.now() + TURN_MS
  #hasBegun = false

  /** Whether this turn has taken as long as one may, or has not begun while others wait for theirs. */
  isOver(): boolean {
    const mustQueue = !this.#hasBegun && waiting.length > 0
    this.#hasBegun = true
    return mustQueue || performance.now() >= this.#until
  }

  /** Resolves when it is this work's turn again. */
  async next(): Promise<void> {
    await new Promise<void>((resolve) => {
      if (waiting.length === 0) setImmediate(letNextGoOn)
      waiting.push(resolve)
    })
    this.#until = performance.now() + TURN_MS
  }
}
