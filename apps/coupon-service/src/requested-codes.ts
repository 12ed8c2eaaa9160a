import type { ApiKeyKind } from '@waymark/contracts/api-key'
import type { CodeRefusal } from '@waymark/contracts/http/coupon-operations'
import { cartRefusalMessage, normalizeCode, refusalMessage } from '@waymark/domain/coupon'
import { cardRefusalOf } from './cart-payments.ts'
import { type CodedCoupon, isGiftCard } from './redeemable-coupon-queries.ts'
import { type Person, stateRefusalOf } from './state-refusal.ts'

/** A code of a request: its coupon, or why there is none to consider. */
export type RequestedCode =
  | { text: string; coupon: CodedCoupon }
  | { text: string; refusal: CodeRefusal; display: string }

export const CODE_MESSAGES: Record<CodeRefusal, string> = {
  ...refusalMessage,
  ...cartRefusalMessage,
  not_found: 'There is no such coupon',
  duplicate: 'The code occurs twice',
}

/** Codes as they are stored, each once. */
export const normalizedCodes = (texts: readonly string[]): string[] => [
  ...new Set(texts.map((text) => normalizeCode(text)).filter((code) => code !== undefined)),
]

/**
 * The coupons of codes as they were entered, of those that were found, for a person at `now` (ms since the epoch), and for a
 * cart in a currency that a key of a kind has sent.
 */
export const requestedCodes = (
  texts: readonly string[],
  found: readonly CodedCoupon[],
  { person, now, currency, keyKind }: { person: Person; now: number; currency: string; keyKind: ApiKeyKind },
): RequestedCode[] => {
  const normalized = texts.map((text) => normalizeCode(text))
  const byCode = new Map(found.map((coupon) => [coupon.normalizedCode, coupon]))
  return texts.map((text, index): RequestedCode => {
    const code = normalized[index]
    const coupon = code === undefined ? undefined : byCode.get(code)
    if (!coupon) return { text, refusal: 'not_found', display: text }
    const refused = (refusal: CodeRefusal) => ({ text, refusal, display: coupon.code })
    if (normalized.indexOf(code) !== index) return refused('duplicate')
    const refusal =
      stateRefusalOf(coupon, person, now) ??
      (isGiftCard(coupon) ? cardRefusalOf(coupon, { currency, keyKind }) : undefined)
    return refusal === undefined ? { text, coupon } : refused(refusal)
  })
}
