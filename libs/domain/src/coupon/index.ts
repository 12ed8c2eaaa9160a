export { amountDue, inOrderOfPayment, type PayingCard, payWith } from './card-payment.ts'
export { type CouponOutcome, discountCart } from './cart-discount.ts'
export {
  type Cart,
  type CartPool,
  type GrantedBefore,
  isCountable,
  type Missing,
  needsCart,
} from './cart-rules.ts'
export {
  alphabetProblems,
  type CodeSpace,
  chosenCode,
  DEFAULT_ALPHABET,
  DEFAULT_CODE_LENGTH,
  displayCode,
  drawCodes,
  guessabilityProblems,
  normalizeCode,
  normalizeCodePrefix,
} from './code.ts'
export { exceedsBudget, type Grant } from './grant.ts'
export { grantedBefore, type OrderRedemption } from './granted-before.ts'
export { MAX_COMPARED, type Qualification, qualifyCart } from './qualify-cart.ts'
export { type CouponState, cartRefusalMessage, refusalMessage, refusalOf } from './refusal.ts'
export { type PastCart, type ReplayedRefusal, replayCarts } from './replay-pool.ts'
export { returnedDiscount } from './returned-discount.ts'
