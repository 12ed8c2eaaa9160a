import { operationName } from './errors.ts'

/**
 * Operations of other methods than GET, PUT and DELETE that may be sent twice: they change nothing, or know a repeat by
 * the ids in it. A test compares this list with the contracts.
 */
export const REPEATABLE: ReadonlySet<string> = new Set([
  'POST /api/v1/t',
  'POST /api/v1/identify',
  'POST /internal/backfill/events',
  'POST /api/v1/exposures',
  'POST /api/v1/decide',
  'POST /api/v1/coupons/redeem',
  'POST /api/v1/coupons/validate',
  'POST /api/v1/coupons/holds/{holdId}/renew',
  'POST /api/v1/promotions/qualify',
  'POST /ofrep/v1/evaluate/flags',
  'POST /ofrep/v1/evaluate/flags/{key}',
  'POST /api/projects/{projectId}/analytics/trends',
  'POST /api/projects/{projectId}/analytics/funnel',
  'POST /api/projects/{projectId}/analytics/retention',
  'POST /api/projects/{projectId}/analytics/paths',
  'POST /api/projects/{projectId}/analytics/web',
  'POST /api/projects/{projectId}/coupon-pools/{id}/preview',
  'POST /api/projects/{projectId}/coupon-pools/{id}/backtest',
  'POST /api/projects/{projectId}/coupon-pools/{id}/import',
  'POST /api/projects/{projectId}/decisions/{key}/preview',
  'POST /api/projects/{projectId}/decisions/{key}/backtest',
  'POST /api/projects/{projectId}/email-triggers/preview',
  'POST /api/projects/{projectId}/email-triggers/{id}/preview',
  'POST /api/projects/{projectId}/email-triggers/{id}/backtest',
  'POST /api/projects/{projectId}/segments/preview',
  'POST /api/projects/{projectId}/segments/{key}/backtest',
  'POST /api/shared/{key}/insights/{id}',
  'POST /api/shared/{key}/web',
])

/** Whether a request may be sent again when it is unknown whether the first one was handled. */
export const isRepeatable = (method: string, path: string): boolean =>
  ['get', 'put', 'delete'].includes(method) || REPEATABLE.has(operationName(method, path))

/** Operations whose events get an id, by which the server stores a repeat once. */
export const WITH_EVENTS: ReadonlySet<string> = new Set(['POST /api/v1/t', 'POST /internal/backfill/events'])
/** Operations that take the header `Idempotency-Key`. */
export const WITH_IDEMPOTENCY_KEY: ReadonlySet<string> = new Set(['POST /api/v1/coupons/redeem'])

/** What a call sends, as far as ids are concerned. */
export type Sent = { body?: unknown; params?: { header?: Record<string, unknown> } }

/** The request with an id for each event that has none, and with an `Idempotency-Key` where one is taken. */
export const withIds = <S extends Sent>(method: string, path: string, init: S): S => {
  const name = operationName(method, path)
  if (WITH_EVENTS.has(name)) return { ...init, body: withEventIds(init.body) }
  if (!WITH_IDEMPOTENCY_KEY.has(name)) return init
  const header = { 'Idempotency-Key': crypto.randomUUID(), ...init.params?.header }
  return { ...init, params: { ...init.params, header } }
}

const withEventIds = (body: unknown): unknown => {
  if (!isObject(body)) return body
  return Array.isArray(body.events)
    ? { ...body, events: body.events.map((event) => (isObject(event) ? withEventId(event) : event)) }
    : withEventId(body)
}

const withEventId = (event: Record<string, unknown>): Record<string, unknown> => ({
  ...event,
  eventId: event.eventId ?? crypto.randomUUID(),
})

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
