// CRC-32C (Castagnoli), reflected, as in RFC 3720.
const POLYNOMIAL = 0x82f63b78
const BYTES_AT_ONCE = 8

const tableOf = (previous: Int32Array | undefined): Int32Array =>
  Int32Array.from({ length: 256 }, (_, byte) => {
    let crc = previous?.[byte] ?? byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1
    return crc
  })

const table = (depth: number): Int32Array => {
  let made = tableOf(undefined)
  for (let done = 0; done < depth; done++) made = tableOf(made)
  return made
}

const t0 = table(0)
const t1 = table(1)
const t2 = table(2)
const t3 = table(3)
const t4 = table(4)
const t5 = table(5)
const t6 = table(6)
const t7 = table(7)

/** CRC-32C by slicing-by-8 (Intel, "A Systematic Approach to Building High Performance CRC Generators"). */
export const crc32c = (bytes: Uint8Array): number => {
  // Every index is in range, which the types cannot express.
  const at = (source: Int32Array | Uint8Array, index: number): number => source[index] as number
  let crc = -1
  let next = 0
  for (const last = bytes.length - BYTES_AT_ONCE; next <= last; next += BYTES_AT_ONCE) {
    crc ^=
      at(bytes, next) | (at(bytes, next + 1) << 8) | (at(bytes, next + 2) << 16) | (at(bytes, next + 3) << 24)
    crc =
      at(t7, crc & 0xff) ^
      at(t6, (crc >>> 8) & 0xff) ^
      at(t5, (crc >>> 16) & 0xff) ^
      at(t4, crc >>> 24) ^
      at(t3, at(bytes, next + 4)) ^
      at(t2, at(bytes, next + 5)) ^
      at(t1, at(bytes, next + 6)) ^
      at(t0, at(bytes, next + 7))
  }
  for (; next < bytes.length; next++) crc = at(t0, (crc ^ at(bytes, next)) & 0xff) ^ (crc >>> 8)
  return ~crc >>> 0
}
