import { setTimeout as sleep } from 'node:timers/promises'
import { v7 as uuidv7 } from 'uuid'
import { createPool } from './coupons.ts'
import { DEADLINE_MS } from './durations.ts'
import type { Fleet, Replica } from './fleet.ts'

/** Every kind of request that needs a server behind its service, each time for a new person. */
export type Services = Record<'gateway' | 'coupons' | 'decisions' | 'redirector' | 'management', Replica>

type Answer = { probe: string; status: number | string; error: unknown; tookMs: number }

const PATIENCE_MS = 60_000
const PAUSE_MS = 100

const json = (method: string, body: unknown): RequestInit => ({
  method,
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
})

/** Starts the services that answer requests, next to a running gateway. `env` overrides the shared environment. */
export const startServices = async (
  fleet: Fleet,
  gateway: Replica,
  env: Record<string, string> = {},
): Promise<Services> => {
  const [coupons, decisions, redirector, management] = await Promise.all([
    fleet.start('coupon-service', env),
    fleet.start('decision-service', env),
    fleet.start('link-redirector', env),
    fleet.start('management-api', env),
  ])
  return { gateway, coupons, decisions, redirector, management }
}

const probesOf = async (fleet: Fleet, { gateway, coupons, decisions, redirector, management }: Services) => {
  const { codes } = await createPool(fleet, { size: 200 })
  const project = `/api/projects/${fleet.projectId}`
  const event = (id: string) => ({ eventName: 'page_view', visitorId: `visitor ${id}`, eventId: id })
  const probes: Record<string, (id: string) => Promise<Response>> = {
    'POST /api/v1/t': (id) => gateway.request('/api/v1/t', json('POST', event(`probe-${id}`))),
    'POST /api/v1/t?sync=1': (id) =>
      gateway.request('/api/v1/t?sync=1', json('POST', event(`probe-sync-${id}`))),
    'POST /api/v1/identify': (id) =>
      gateway.request('/api/v1/identify', json('POST', { visitorId: `v ${id}`, userId: `u ${id}` })),
    'PUT /api/v1/profile': (id) =>
      gateway.request('/api/v1/profile', json('PUT', { userId: `u ${id}`, traits: { plan: 'pro' } })),
    'POST /internal/backfill/events': (id) =>
      gateway.request('/internal/backfill/events', json('POST', { events: [event(`probe-past-${id}`)] })),
    'POST /api/v1/decide': (id) =>
      decisions.request('/api/v1/decide', json('POST', { visitorId: `visitor ${id}`, keys: ['none'] })),
    'GET /api/v1/coupons/{code}': () => coupons.request(`/api/v1/coupons/${codes[0]}`),
    'POST /api/v1/coupons/redeem': (id) =>
      coupons.request('/api/v1/coupons/redeem', json('POST', { code: codes.at(-1), userId: id })),
    'GET /s/{code}': (id) => redirector.request(`/s/${id.slice(-7)}`, { redirect: 'manual' }),
    'GET events': () => management.request(`${project}/events`),
    'POST event-definitions': (id) =>
      management.request(`${project}/event-definitions`, json('POST', { name: `e ${id}`, schema: {} })),
    'POST /api/auth/login': (id) =>
      management.request(
        '/api/auth/login',
        json('POST', { email: `${id}@shop.example`, password: 'correct horse battery' }),
      ),
    'POST /api/auth/register': (id) =>
      management.request(
        '/api/auth/register',
        json('POST', { email: `${id}@shop.example`, password: 'correct horse battery', name: 'N' }),
      ),
  }
  return probes
}

/** Sends every kind of request repeatedly, with a pause in ms, until it is stopped. Returns the responses. */
export const startProbes = async (fleet: Fleet, services: Services, pauseMs = PAUSE_MS) => {
  const probes = await probesOf(fleet, services)
  const answers: Answer[] = []
  let going = true
  const ask = async (probe: string, send: (id: string) => Promise<Response>): Promise<void> => {
    const begunAt = performance.now()
    const signal = AbortSignal.timeout(PATIENCE_MS)
    const late = new Promise<never>((_, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason)),
    )
    const note = (status: number | string, error: unknown): void =>
      void answers.push({ probe, status, error, tookMs: performance.now() - begunAt })
    try {
      const response = await Promise.race([send(uuidv7()), late])
      const text = await response.text()
      note(response.status, response.status >= 500 ? text : undefined)
    } catch (error) {
      note('no answer', error)
    }
  }
  const done = Promise.all(
    Object.entries(probes).map(async ([probe, send]) => {
      while (going) {
        await ask(probe, send)
        await sleep(pauseMs)
      }
    }),
  )
  return {
    stop: async (): Promise<Answer[]> => {
      going = false
      await done
      return answers
    },
    /** Whether every kind of request succeeds once. */
    areWell: async (): Promise<boolean> => {
      const statuses = await Promise.all(
        Object.values(probes).map(async (send) => (await send(uuidv7())).status),
      )
      return statuses.every((status) => status < 500)
    },
  }
}

/** Responses that no fault may cause: none at all, or an error other than 503 with a JSON body. */
export const unexplained = (answers: readonly Answer[]): Answer[] =>
  answers.filter(
    ({ status, error }) =>
      typeof status === 'string' ||
      (status >= 500 && (status !== 503 || !/"retryAfter(Seconds)?":/.test(`${error}`))),
  )

/** Responses that no fault may cause: those of `unexplained`, and those after the deadline. */
export const broken = (answers: readonly Answer[]): Answer[] => [
  ...unexplained(answers),
  ...answers.filter(({ tookMs }) => tookMs > DEADLINE_MS),
]

/** The distribution of the responses, for the report. */
export const countAnswers = (answers: readonly Answer[]): Record<string, number | string> => ({
  probes: answers.length,
  ...Object.fromEntries(
    [...Map.groupBy(answers, ({ status }) => `${status}`)].map(([status, of]) => [`× ${status}`, of.length]),
  ),
  slowest: `${Math.round(Math.max(...answers.map(({ tookMs }) => tookMs)))} ms`,
})
