import type { RateLimitedUse, RateLimiter } from '@waymark/cache'
import type { ApiKey } from '@waymark/project-config'
import { type Limit, limitedClient, tooManyRequests } from '@waymark/service-kit'

/** Limits look-ups of codes that do not exist. */
export type MissLimit = {
  /**
   * Runs a look-up of `codes` codes. Each counts as a miss from before the look-up until it was found, so that a burst
   * evaluates no more codes than are allowed. A client whose other look-ups may still free a use waits for them.
   * @throws AppError rate_limited beyond the limit, and what the look-up throws, which then counts nothing
   */
  lookUp<T>(
    client: { apiKey: ApiKey; ip: string; codes: number },
    find: () => Promise<{ found: T; misses: number }>,
  ): Promise<T>
}

const WINDOW_MS = 60_000

/** A look-up that has to wait for another one of its client, which may free a use. */
type Waiter = { claims: number; admit(): void; fail(error: unknown): void }
/**
 * The look-ups of a client in this process: all, those that have or claim uses, how many have freed theirs, and those
 * that wait.
 */
type Client = { all: number; inFlight: number; ended: number; waiting: Waiter[]; isAdmitting: boolean }

/** Counts misses across processes. */
export const createMissLimit = (limiter: RateLimiter, limit: Limit): MissLimit => {
  const clients = new Map<string, Client>()

  /** Claims all uses or none. Resolves to the ms until the window ends when there are too few. */
  const claim = async (use: RateLimitedUse, uses: number): Promise<number | undefined> => {
    const { allowed, resetMs } = await limiter.consume({ ...use, uses })
    return allowed ? undefined : Math.max(1, resetMs)
  }

  const isAdmittedAtOnce = async (client: Client, use: RateLimitedUse, claims: number): Promise<boolean> => {
    if (client.waiting.length > 0) return false
    client.inFlight++
    let isAdmitted = false
    try {
      isAdmitted = (await claim(use, claims)) === undefined
    } finally {
      if (!isAdmitted) client.inFlight--
    }
    return isAdmitted
  }

  /**
   * Admits those who wait, one after the other, as long as there are uses. When nobody can free one, it refuses them.
   * A burst then takes a number of claims that grows with its size, not with its square.
   */
  const admitWaiting = async (client: Client, use: RateLimitedUse, refusal: (ms: number) => Error) => {
    if (client.isAdmitting) return
    client.isAdmitting = true
    for (let [next] = client.waiting; next; [next] = client.waiting) {
      const { claims } = next
      const { ended } = client
      try {
        const waitMs = await claim(use, claims)
        if (waitMs === undefined) {
          client.waiting.shift()
          client.inFlight++
          next.admit()
        } else if (client.inFlight === 0 && client.ended === ended) {
          const refused = client.waiting.filter((one) => one.claims >= claims)
          client.waiting = client.waiting.filter((one) => one.claims < claims)
          for (const one of refused) one.fail(refusal(waitMs))
        } else if (client.ended === ended) break
      } catch (error) {
        client.waiting.shift()
        next.fail(error)
      }
    }
    client.isAdmitting = false
  }

  return {
    lookUp: async ({ apiKey, ip, codes }, find) => {
      const limited = limitedClient(apiKey, ip, limit, true)
      const { key, perMinute } = limited
      const use = { bucket: 'coupon-misses', key, limit: perMinute, windowMs: WINDOW_MS }
      const refusal = (waitMs: number) =>
        tooManyRequests(limited, 'look-ups of codes that do not exist', Math.ceil(waitMs / 1000))
      const claims = Math.min(codes, perMinute)
      const client = clients.get(key) ?? newClient()
      clients.set(key, client)
      client.all++
      try {
        if (!(await isAdmittedAtOnce(client, use, claims))) {
          const turn = new Promise<void>((admit, fail) => client.waiting.push({ claims, admit, fail }))
          void admitWaiting(client, use, refusal)
          await turn
        }
        let hits = claims
        try {
          const { found, misses } = await find()
          hits = Math.max(0, claims - misses)
          return found
        } finally {
          await limiter.giveBack({ ...use, uses: hits }).finally(() => {
            client.inFlight--
            client.ended++
            void admitWaiting(client, use, refusal)
          })
        }
      } finally {
        client.all--
        if (client.all === 0) clients.delete(key)
      }
    },
  }
}

const newClient = (): Client => ({ all: 0, inFlight: 0, ended: 0, waiting: [], isAdmitting: false })
