/**
 * A use of something limited. A window starts with the first use of (bucket, key), lasts `windowMs` rounded up to whole
 * seconds, and allows `limit` uses. The limit may change from one use to the next.
 */
export type RateLimitedUse = {
  bucket: string
  key: string
  limit: number
  windowMs: number
  /** How many uses it counts as, all or none; default 1. */
  uses?: number
}

/** Whether a use was allowed, how many uses remain, and the ms until the window ends. */
export type RateLimitResult = {
  allowed: boolean
  limit: number
  remaining: number
  resetMs: number
  /** Set when the shared counter did not answer and only the uses of this process were counted. */
  localOnly?: true
}

/** Counts uses and refuses those over the limit. */
export type RateLimiter = {
  /** Counts a use if all of it is allowed. Never rejects: without the shared counter, it counts for this process only. */
  consume(use: RateLimitedUse): Promise<RateLimitResult>
  /** Takes back a use of the current window, which then does not count. Never rejects. */
  giveBack(use: RateLimitedUse): Promise<void>
  /** Shares the remaining counts. Does not close the shared counter. */
  close(): Promise<void>
}

/** Counts that processes share. */
export type SharedCounter = {
  /** Whether the store can be asked. False while it is disconnected, and for a second after a failure. */
  isReady(): boolean
  /**
   * Adds `uses`, which may be negative, to a count that starts at 0 and expires after `windowMs`, rounded up to whole seconds. Returns the sum
   * of all processes and the ms until it expires. Undefined when the store fails or is slow; whether the uses were added
   * is then unknown.
   */
  add(name: string, uses: number, windowMs: number): Promise<{ used: number; resetMs: number } | undefined>
  close(): Promise<void>
}
