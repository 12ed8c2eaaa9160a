/** Adds `added` to the total `name`, which begins at `seed` if nobody has begun it. */
export type TotalIncrement = { name: string; added: number; seed: number }

/** Totals that processes share. They may be forgotten at any time and then begin at a seed again. */
export type SharedTotals = {
  /**
   * Answers the totals after the increments, in their order, or undefined when the store fails or is slow; whether
   * anything was added is then unknown.
   */
  add(increments: readonly TotalIncrement[]): Promise<number[] | undefined>
  close(): Promise<void>
}
