import { setTimeout as sleep } from 'node:timers/promises'

/** When and how often a request is sent again. */
export type RetryOptions = {
  /** How often a request is sent again after the first attempt. Default: 3. */
  attempts?: number
  /** The longest wait that is accepted, in milliseconds; a longer `Retry-After` ends the attempts. Default: 60,000. */
  maxWaitMs?: number
  /** Waits between attempts. For tests. */
  wait?: (ms: number, signal: AbortSignal) => Promise<unknown>
}

type Fetch = (request: Request) => Promise<Response>

const FIRST_WAIT_MS = 500
/** Statuses of servers and proxies that were not able to handle a request. */
const UNAVAILABLE = new Set([502, 503, 504])

/**
 * Sends a request again when that is safe. An answer of 429 always is, because nothing was done. After a connection error
 * or 502, 503 or 504 it is unknown what was done, so only requests for which `isRepeatable` holds are repeated.
 */
export const fetchWithRetries = async (
  fetchOnce: Fetch,
  request: Request,
  isRepeatable: boolean,
  { attempts = 3, maxWaitMs = 60_000, wait = waitFor }: RetryOptions,
): Promise<Response> => {
  for (let attempt = 0; ; attempt++) {
    const isLast = attempt >= attempts
    // A body can be sent once.
    const outcome = await fetchOnce(isLast ? request : request.clone()).catch((error: unknown) => ({ error }))
    const failed = 'error' in outcome
    if (failed && (isLast || !isRepeatable || request.signal.aborted)) throw outcome.error
    if (!failed && (isLast || !mayBeRepeated(outcome, isRepeatable))) return outcome
    const ms = (failed ? undefined : retryAfterMs(outcome)) ?? backoffMs(attempt)
    if (ms > maxWaitMs) {
      if (failed) throw outcome.error
      return outcome
    }
    if (!failed) await outcome.body?.cancel()
    await wait(ms, request.signal)
  }
}

const mayBeRepeated = ({ status }: Response, isRepeatable: boolean): boolean =>
  status === 429 || (isRepeatable && UNAVAILABLE.has(status))

/** `Retry-After` in milliseconds: seconds or a date. */
const retryAfterMs = ({ headers }: Response): number | undefined => {
  const header = headers.get('Retry-After')
  if (header === null) return undefined
  const seconds = Number(header)
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1_000)
  const date = Date.parse(header)
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now())
}

/** Doubles with each attempt. Random, so that clients that failed together do not come back together. */
const backoffMs = (attempt: number): number => FIRST_WAIT_MS * 2 ** attempt * (0.5 + Math.random() / 2)

const waitFor = (ms: number, signal: AbortSignal): Promise<unknown> => sleep(ms, undefined, { signal })
