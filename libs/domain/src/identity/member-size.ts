const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPENING = new Set([0x7b, 0x5b])
const CLOSING = new Set([0x7d, 0x5d])
const SPACE = new Set([0x20, 0x09, 0x0a, 0x0d])

/**
 * The size of the value of member `name` in the text of a JSON object, in bytes, including inner white space. The last of
 * repeated members counts, as in parsers. `json` must be a valid JSON object in UTF-8. `undefined` without the member.
 */
export const memberSize = (json: Uint8Array, name: string): number | undefined => {
  let size: number | undefined
  // The punctuation of JSON is ASCII, and the bytes of longer UTF-8 characters are not.
  let at = skipTo(json, 0, (byte) => OPENING.has(byte)) + 1
  while (at < json.length) {
    const keyStart = skipTo(json, at, (byte) => byte === QUOTE)
    const keyEnd = endOfString(json, keyStart)
    const valueStart = skipSpace(json, skipTo(json, keyEnd, (byte) => byte === COLON) + 1)
    const valueEnd = endOfValue(json, valueStart)
    if (keyStart < json.length && keyAt(json, keyStart, keyEnd) === name) size = valueEnd - valueStart
    at = skipTo(json, valueEnd, (byte) => byte === COMMA || CLOSING.has(byte)) + 1
    if (CLOSING.has(json[at - 1] ?? 0)) break
  }
  return size
}

// A key may contain escapes.
const keyAt = (json: Uint8Array, start: number, end: number): unknown =>
  JSON.parse(Buffer.from(json.subarray(start, end)).toString('utf8'))

const skipTo = (json: Uint8Array, from: number, found: (byte: number) => boolean): number => {
  let at = from
  while (at < json.length && !found(json[at] ?? 0)) at++
  return at
}

const skipSpace = (json: Uint8Array, from: number): number => skipTo(json, from, (byte) => !SPACE.has(byte))

/** The index after the closing quote of the string at `start`. */
const endOfString = (json: Uint8Array, start: number): number => {
  let at = start + 1
  while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1
  return at + 1
}

const endOfValue = (json: Uint8Array, start: number): number => {
  const first = json[start] ?? 0
  if (first === QUOTE) return endOfString(json, start)
  if (!OPENING.has(first))
    return skipTo(json, start, (byte) => byte === COMMA || CLOSING.has(byte) || SPACE.has(byte))
  let depth = 0
  let at = start
  do {
    const byte = json[at] ?? 0
    if (byte === QUOTE) {
      at = endOfString(json, at)
      continue
    }
    if (OPENING.has(byte)) depth++
    if (CLOSING.has(byte)) depth--
    at++
  } while (depth > 0 && at < json.length)
  return at
}
