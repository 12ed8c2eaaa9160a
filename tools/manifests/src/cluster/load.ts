import { setTimeout as sleep } from 'node:timers/promises'

const TIMEOUT_MS = 20_000
const PAUSE_MS = 100

/** A service from the view of a client: a request, and the status of its answer. */
export type Target = { name: string; status: number; call(): Promise<Response> }

/** What a client of a service saw. */
export type Seen = { name: string; requests: number; failures: string[]; slowestMs: number }

/** A request of a load, which gives up after a time. */
export const request = (url: string, init: RequestInit = {}): Promise<Response> =>
  fetch(url, { redirect: 'manual', ...init, signal: AbortSignal.timeout(TIMEOUT_MS) })

const describeFailure = (error: unknown): string => {
  const { message, cause } = error as Error
  return cause instanceof Error ? `${message}: ${cause.message}` : message
}

/** Sends one request after another to each target until `stop`, without repeating failed ones. */
export const startLoad = (targets: readonly Target[]): { stop(): Promise<Seen[]> } => {
  let going = true
  const send = async ({ name, status, call }: Target): Promise<Seen> => {
    const seen: Seen = { name, requests: 0, failures: [], slowestMs: 0 }
    while (going) {
      const begunAt = performance.now()
      seen.requests += 1
      try {
        const answer = await call()
        const text = await answer.text()
        if (answer.status !== status) seen.failures.push(`status ${answer.status}: ${text.slice(0, 100)}`)
      } catch (error) {
        seen.failures.push(describeFailure(error))
      }
      seen.slowestMs = Math.max(seen.slowestMs, Math.round(performance.now() - begunAt))
      await sleep(PAUSE_MS)
    }
    return seen
  }
  const running = Promise.all(targets.map(send))
  return {
    stop: () => {
      going = false
      return running
    },
  }
}

/** A line of the report about what a client saw. */
export const summaryOf = ({ requests, failures, slowestMs }: Seen): string => {
  const reasons = [...new Set(failures)].join(', ')
  return `${requests} requests, ${failures.length} failed${reasons && ` (${reasons})`}, slowest ${slowestMs} ms`
}
