/**
 * Steps that a request, or a batch of records, may take beyond what each of its events has of its own. A step is some ten
 * nanoseconds at the most, so that all of them take about a tenth of a second.
 */
export const SHARED_STEPS = 4_000_000
/** Steps that each event, or each person that is decided for, has of its own. */
export const STEPS_PER_ITEM = 50_000

/** Thrown where work would cost more than its budget. The work is not done then. */
export class BudgetExceededError extends Error {
  constructor() {
    super('the work would cost more than its budget')
    this.name = 'BudgetExceededError'
  }
}

/**
 * What work on a tenant's rules may still cost. It counts steps and not time, so that every process decides alike. One
 * budget spans a request: what is saved by an event does not go to the next, what it takes beyond its own does.
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

  /** Begins with the next event, which has steps of its own. */
  startItem(steps = STEPS_PER_ITEM): void {
    this.#own = steps
  }

  /** @throws BudgetExceededError when fewer steps are left, none of which are taken then */
  spend(steps: number): void {
    if (steps > this.left) throw new BudgetExceededError()
    const ofOwn = Math.min(steps, this.#own)
    this.#own -= ofOwn
    this.#shared -= steps - ofOwn
  }
}
