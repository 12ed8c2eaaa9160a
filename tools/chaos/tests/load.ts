import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { METERED } from './fleet.ts'

/** Sends a request with events to a gateway. */
export type Send = (path: string, init: RequestInit) => Promise<Response>

/** A response, or the error in its place. */
export type Attempt = { status: number | 'no answer'; error: unknown; tookMs: number; metering: boolean }

/** What a client sent: all ids, the acknowledged ones, and each attempt. */
export type Load = {
  /** The prefix of its event ids. */
  name: string
  sent: string[]
  acknowledged: Set<string>
  metering: Set<string>
  attempts: Attempt[]
}

type LoadOptions = {
  name: string
  send: Send
  senders?: number
  /** Events of one request. */
  batch?: number
  /** Pause between two requests of a sender, in ms. */
  pauseMs?: number
  /** Pause before a request is repeated, in ms. */
  retryMs?: number
  /** Additional fields of each event. */
  fields?: (id: string) => object
}

/** The client's timeout, in ms: long enough to detect that a request hung. */
const CLIENT_PATIENCE_MS = 20_000

/**
 * A careful client: sends events, every fourth sender conversions, and repeats the identical request until it is
 * acknowledged. `stop` waits for the last acknowledgement.
 */
export const startLoad = ({
  name,
  send,
  senders = 4,
  batch = 1,
  pauseMs = 5,
  retryMs = 200,
  fields = () => ({}),
}: LoadOptions) => {
  const prefix = `${name}-${randomBytes(3).toString('hex')}`
  const load: Load = { name: prefix, sent: [], acknowledged: new Set(), metering: new Set(), attempts: [] }
  let going = true

  const attempt = async (body: string, metering: boolean): Promise<boolean> => {
    const begunAt = performance.now()
    const note = (status: Attempt['status'], error: unknown): void =>
      void load.attempts.push({ status, error, tookMs: performance.now() - begunAt, metering })
    try {
      const response = await send('/api/v1/t', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body,
        signal: AbortSignal.timeout(CLIENT_PATIENCE_MS),
      })
      const answer = (await response.json()) as { error?: unknown; failed?: number }
      note(response.status, answer.error)
      return response.ok && answer.failed === 0
    } catch (error) {
      note('no answer', error)
      return false
    }
  }

  const work = async (sender: number): Promise<void> => {
    // Conversions have a separate sender, because they are refused while the others continue.
    const metering = sender % 4 === 3
    for (let n = 0; going; n++) {
      const events = Array.from({ length: batch }, (_, index) => {
        const eventId = `${prefix}-${sender}-${n}-${index}`
        const eventName = metering ? METERED : 'page_view'
        const visitorId = `visitor ${sender}-${n % 50}`
        return { eventName, visitorId, eventId, properties: { total: 500 }, ...fields(eventId) }
      })
      const ids = events.map(({ eventId }) => eventId)
      load.sent.push(...ids)
      if (metering) for (const id of ids) load.metering.add(id)
      const body = JSON.stringify({ events })
      while (!(await attempt(body, metering))) await sleep(retryMs)
      for (const id of ids) load.acknowledged.add(id)
      await sleep(pauseMs)
    }
  }
  const done = Promise.all(Array.from({ length: senders }, (_, sender) => work(sender)))

  return {
    load,
    stop: async (): Promise<Load> => {
      going = false
      await done
      return load
    },
  }
}

/** The slowest response of a load, in ms. */
export const slowestMs = ({ attempts }: Load): number =>
  Math.round(attempts.reduce((slowest, { tookMs }) => Math.max(slowest, tookMs), 0))

/** The number of its attempts with a 503 response. */
export const refusals = ({ attempts }: Load): number => attempts.filter(({ status }) => status === 503).length
