/**
 * Marks that processes leave each other on keys, such as that something changed. They may be lost when the store loses
 * its memory, and end by themselves.
 */
export type SharedMarks = {
  /**
   * Leaves a mark on each key for `ttlMs` milliseconds, in place of the one before. When it resolves, whoever reads gets
   * it. While the store is down it resolves too, and the mark is set as soon as the store is back.
   */
  set(keys: readonly string[], mark: string, ttlMs: number): Promise<void>
  /** The marks on keys, in their order; undefined as a whole when the store fails or is slow. */
  read(keys: readonly string[]): Promise<(string | undefined)[] | undefined>
  close(): Promise<void>
}
