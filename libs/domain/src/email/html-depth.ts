const TAG = /<(\/?)([a-z][^\s/>]*)/gi
const VOID = new Set('area base br col embed hr img input link meta param source track wbr'.split(' '))

/**
 * How deeply elements may lie within each other, at most: elements that need no end tag count as if they were never closed. Parsers
 * take time by the square of the depth, so it is worth asking before.
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
      // An end tag without a start closes nothing.
      open.set(name, count - 1)
      depth -= 1
    }
  }
  return deepest
}
