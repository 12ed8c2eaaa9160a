/**
 * A use of something limited. A window begins with the first use of (bucket, key) and lasts `windowMs`,
 * rounded up to whole seconds; `limit` uses of it are allowed. The limit may change from one use to the next.
 */
export type RateLimitedUse = { bucket: string; key: string; limit: number; windowMs: number }

/** Whether a use was allowed, how many more are, and in how many ms the window ends. */
export type RateLimitResult = {
  allowed: boolean
  limit: number
  remaining: number
  resetMs: number
  /** Set when the shared counter did not answer, so that only the uses of this process were counted. */
  localOnly?: true
}

/** Counts uses and says when there were too many. */
export type RateLimiter = {
  /** Counts a use if it is allowed. Never rejects: where uses cannot be counted for all processes, this one's count. */
  consume(use: RateLimitedUse): Promise<RateLimitResult>
  /** Shares what is not shared yet. Does not close what the limiter was created with. */
  close(): Promise<void>
}

/** Counts that processes share. */
export type SharedCounter = {
  /** Whether the store can be asked. False while it is down, and for a second after it failed. */
  isReady(): boolean
  /**
   * Adds `uses` to a count, which begins at 0 and is forgotten after `windowMs` (rounded up to whole seconds).
   * Answers the sum of all processes and the ms until it is forgotten, or undefined when the store fails or is
   * slow; whether the uses were added is then unknown.
   */
  add(name: string, uses: number, windowMs: number): Promise<{ used: number; resetMs: number } | undefined>
  close(): Promise<void>
}
