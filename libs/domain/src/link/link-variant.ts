import { bucketOf, shareOf } from '../decision/bucket.ts'

/** Maximum different keys that the variants of a link have had, because the number of a variant has 5 bits. */
export const MAX_VARIANT_KEYS = 31

/**
 * The variant of a link for a visitor: the same one as long as weights and order stay. A variant whose weight alone grows
 * keeps its visitors. Undefined when all weights are 0.
 */
export const variantFor = <T extends { weight: number }>(
  linkId: string,
  variants: readonly T[],
  visitor: string,
): T | undefined => shareOf(variants, bucketOf(linkId, 'variants', 'split:link', visitor))
