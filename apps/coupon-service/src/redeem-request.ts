import {
  AppError,
  currencyOf,
  MAX_COUPON_METADATA_BYTES,
  MAX_COUPON_METADATA_DEPTH,
  redeemRequest,
  requireValid,
} from '@waymark/contracts'
import { isDeeperThan, normalizeCode } from '@waymark/domain'

/** A request to redeem; absent fields are null. */
export type Redeem = {
  /** Normalized; undefined when no coupon can have it. */
  code: string | undefined
  visitorId: string | null
  userId: string | null
  orderId: string | null
  /** Minor units of the currency. */
  amount: number | null
  currency: string | null
  /** The client's own event of the redemption. */
  eventId: string | null
  metadata: Record<string, unknown>
}

const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/

/** Reads the body of a request to redeem. @throws AppError bad_request */
export const parseRedeem = (body: unknown): Redeem => {
  const request = requireValid(redeemRequest, body)
  const amount = request.amount ?? null
  const currency = currencyOf(request.currency ?? '') ?? null
  if (amount !== null && currency === null)
    throw new AppError('bad_request', 'currency is required beside amount, such as EUR')
  const metadata = request.metadata ?? {}
  if (isDeeperThan(metadata, MAX_COUPON_METADATA_DEPTH))
    throw new AppError('bad_request', `metadata is nested deeper than ${MAX_COUPON_METADATA_DEPTH} levels`)
  const bytes = Buffer.byteLength(JSON.stringify(metadata))
  if (bytes > MAX_COUPON_METADATA_BYTES)
    throw new AppError(
      'bad_request',
      `metadata takes ${bytes} bytes; ${MAX_COUPON_METADATA_BYTES} are allowed`,
    )
  return {
    code: normalizeCode(request.code),
    visitorId: request.visitorId ?? null,
    userId: request.userId ?? null,
    orderId: request.orderId ?? null,
    amount,
    currency,
    eventId: request.eventId ?? null,
    metadata,
  }
}

/** Reads the `Idempotency-Key` header. @throws AppError bad_request when it is not 1 to 255 printable characters */
export const parseIdempotencyKey = (header: string | undefined): string | undefined => {
  if (header === undefined || IDEMPOTENCY_KEY.test(header)) return header
  throw new AppError('bad_request', 'The Idempotency-Key must be 1 to 255 printable ASCII characters')
}
