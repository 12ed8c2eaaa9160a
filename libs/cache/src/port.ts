/**
 * Short-lived values shared by processes where the adapter can. A cache may forget at any time, so a failing
 * one behaves like an empty one: `get` answers `undefined` and `set` does nothing.
 */
export type Cache = {
  get(key: string): Promise<string | undefined>
  /** Keeps a value for `ttlMs` milliseconds, at least 1. */
  set(key: string, value: string, ttlMs: number): Promise<void>
  delete(key: string): Promise<void>
  close(): Promise<void>
}
