/** A turn of the event loop. It handles all input that had arrived when it began. */
type EventLoopTurn = {
  over: boolean
  /** Called when it is over. */
  readonly listeners: (() => void)[]
}

let current: EventLoopTurn | undefined

/** The present turn. All callers of a turn share one `setImmediate`. */
export const eventLoopTurn = (): EventLoopTurn => {
  current ??= beginTurn()
  return current
}

const beginTurn = (): EventLoopTurn => {
  const turn: EventLoopTurn = { over: false, listeners: [] }
  setImmediate(() => {
    current = undefined
    turn.over = true
    for (const listener of turn.listeners) listener()
  })
  return turn
}

/** Runs `work` at the end of the present turn, after all input that had arrived when it began. */
export const atEndOfTurn = (work: () => void): void => void eventLoopTurn().listeners.push(work)
