/** One of the two sides of a benchmark: a server to start and a request to send to it. Without a body it is a GET. */
export type Side = {
  entry: string
  env: Record<string, string>
  /** The same for every request, or made anew for each. */
  path: string | (() => string)
  headers: Record<string, string>
  /** One body for all requests, or several that take turns. */
  body?: string | readonly string[]
}

/** Ours beside a bare baseline, with the least ratio of requests per second that is good enough. */
export type Benchmark = {
  name: string
  goal: number
  /** Starts what both sides need. */
  prepare: () => Promise<{ ours: Side; baseline: Side; dispose: () => Promise<void> }>
}
