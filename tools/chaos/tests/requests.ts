import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '@waymark/testing'

/** A kind of request, and the status of its success. `next` prepares one, and the returned function sends it. */
export type RequestKind = { status: number; next(): () => Promise<Response> }

/** Pause between two requests of a kind, in ms. */
const PAUSE_MS = 200
/** Pause before a request that was answered 503 is repeated, in ms. */
const RETRY_MS = 500
/** A request that is still answered 503 after this time has failed: twice the longest `retryAfter`, in ms. */
const RETRY_FOR_MS = 60_000

/** Sends requests of each kind, one after the other, until `stop`. */
export const startRequests = (kinds: Record<string, RequestKind>) => {
  const answered: Record<string, number> = Object.fromEntries(Object.keys(kinds).map((kind) => [kind, 0]))
  const failures: string[] = []
  let [refused, slowestMs] = [0, 0]
  let going = true

  const send = async (attempt: () => Promise<Response>): Promise<{ status: number; text: string }> => {
    const deadline = performance.now() + RETRY_FOR_MS
    for (;;) {
      const begunAt = performance.now()
      const response = await attempt()
      const text = await response.text()
      slowestMs = Math.max(slowestMs, performance.now() - begunAt)
      if (response.status !== 503) return { status: response.status, text }
      refused += 1
      if (performance.now() > deadline) return { status: response.status, text }
      await sleep(RETRY_MS)
    }
  }
  const work = async (kind: string, { status: expected, next }: RequestKind): Promise<void> => {
    while (going) {
      try {
        const { status, text } = await send(next())
        if (status === expected) answered[kind] = (answered[kind] ?? 0) + 1
        else failures.push(`${kind}: ${status} ${text.slice(0, 300)}`)
      } catch (error) {
        failures.push(`${kind}: ${error} ${(error as Error).cause ?? ''}`)
      }
      await sleep(PAUSE_MS)
    }
  }
  const done = Promise.all(Object.entries(kinds).map(([kind, of]) => work(kind, of)))

  return {
    /** What failed so far. */
    failures,
    /** Waits until each kind has got `count` more answers. Failures count, too, so that a failing kind ends the wait. */
    untilAnswered: async (count: number): Promise<void> => {
      const before = { ...answered }
      await eventually(
        `${count} more answers of each kind`,
        () =>
          failures.length > 0 ||
          Object.entries(answered).every(([kind, now]) => now >= (before[kind] ?? 0) + count),
        // Each may be repeated.
        count * RETRY_FOR_MS,
      )
    },
    stop: async () => {
      going = false
      await done
      return { answered, refused, slowestMs: Math.round(slowestMs) }
    },
  }
}
