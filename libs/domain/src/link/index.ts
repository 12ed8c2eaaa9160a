export { clickTimeOf, createClickIds, parseClickId, variantNumberOf } from './click-id.ts'
export { codeProblem, generateCode, LINK_CODE, visitedCode } from './code.ts'
export {
  addressFor,
  checkDestination,
  type PreparedDestination,
  prepareDestination,
} from './destination.ts'
export { type LinkReference, linkClaimOf } from './link-reference.ts'
export { type LinkEnd, linkStateAt } from './link-state.ts'
export { describeVisitor, fitsTarget, type LinkVisitor } from './link-target.ts'
export { attributeTo, DEFAULT_ATTRIBUTION_DAYS, type LinkTouch, mergeLinkTouches } from './link-touch.ts'
export { MAX_VARIANT_KEYS, variantFor } from './link-variant.ts'
export { isPreviewBot } from './preview-bot.ts'
