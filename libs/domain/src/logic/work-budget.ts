/**
 * Steps that the events of a request or batch share, beyond those of each event. A step takes about ten nanoseconds at
 * most, so all of them take about a tenth of a second.
 */
const SHARED_STEPS = 4_000_000
/** Steps of each event, or of each person of a decision request. */
const STEPS_PER_ITEM = 50_000

/** The work would exceed its budget, and is not done. */
export class BudgetExceededError extends Error {
  constructor() {
    super('the work would cost more than its budget')
    this.name = 'BudgetExceededError'
  }
}

/**
 * The remaining budget of work on the rules of a tenant. It counts steps instead of time, so that results do not depend on
 * the machine. A budget covers a request: unused steps of an event expire, and excess steps reduce the shared ones.
 */
export class WorkBudget {
  #shared: number
  #own: number

  constructor(shared = SHARED_STEPS, own = STEPS_PER_ITEM) {
    this.#shared = shared
    this.#own = own
  }

  get left(): number {
    return this.#own + this.#shared
  }

  /** Starts the next event, with its own steps. */
  startItem(steps = STEPS_PER_ITEM): void {
    this.#own = steps
  }

  /** Takes steps, or none if fewer remain. @throws BudgetExceededError */
  spend(steps: number): void {
    if (steps > this.left) throw new BudgetExceededError()
    const ofOwn = Math.min(steps, this.#own)
    this.#own -= ofOwn
    this.#shared -= steps - ofOwn
  }
}
