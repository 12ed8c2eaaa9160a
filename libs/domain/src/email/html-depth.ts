const TAG = /<(\/?)([a-z][^\s/>]*)/gi
const VOID = new Set('area base br col embed hr img input link meta param source track wbr'.split(' '))

/**
 * An upper bound of the nesting depth of elements; elements without end tags count as not closed. Check it before parsing,
 * because parsers take quadratic time in the depth.
 */
export const htmlDepth = (html: string): number => {
  const open = new Map<string, number>()
  let depth = 0
  let deepest = 0
  for (const [, closing, tag = ''] of html.matchAll(TAG)) {
    const name = tag.toLowerCase()
    const count = open.get(name) ?? 0
    if (!closing && !VOID.has(name)) {
      open.set(name, count + 1)
      depth += 1
      deepest = Math.max(deepest, depth)
    } else if (closing && count > 0) {
      // Ignores an end tag without a start tag.
      open.set(name, count - 1)
      depth -= 1
    }
  }
  return deepest
}
