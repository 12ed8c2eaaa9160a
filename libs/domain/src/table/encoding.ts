/** The encodings that spreadsheets and editors write. */
export type TextEncoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252'

/** How many of the bytes at even or odd positions are zero in UTF-16 without a BOM, at least. */
const ZERO_SHARE = 0.5
const PROBED_BYTES = 1024

/** The encoding of text by its first bytes: by its BOM, else by what they can be. */
export const encodingOf = (start: Uint8Array): TextEncoding => {
  const [first, second] = start
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  if (zeroShare(start, 1) > ZERO_SHARE) return 'utf-16le'
  if (zeroShare(start, 0) > ZERO_SHARE) return 'utf-16be'
  try {
    // As a stream, because the start may end within a character.
    new TextDecoder('utf-8', { fatal: true }).decode(start, { stream: true })
    return 'utf-8'
  } catch {
    return 'windows-1252'
  }
}

const zeroShare = (bytes: Uint8Array, parity: 0 | 1): number => {
  const places = bytes.subarray(0, PROBED_BYTES).filter((_, index) => index % 2 === parity)
  return places.length === 0 ? 0 : places.filter((byte) => byte === 0).length / places.length
}

/** The text of a file, without its BOM. */
export const decodeText = (bytes: Uint8Array): string => new TextDecoder(encodingOf(bytes)).decode(bytes)
