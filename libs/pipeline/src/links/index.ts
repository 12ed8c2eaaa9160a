export {
  attributeConversions,
  attributeMerged,
  type LinkAttribution,
  type LinkNews,
  linkFieldsOf,
  type TouchedPeople,
} from './attribution-queries.ts'
export { forgetVisitors, storeClicks } from './click-queries.ts'
export { createResolveLinks, linkCopyKey, linkKeyOf } from './link-queries.ts'
export { createVisitorHash, type VisitorHash } from './visitor-hash.ts'
