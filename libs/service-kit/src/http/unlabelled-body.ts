import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { bodyErrorOf } from './read-bytes.ts'

const unzip = promisify(gunzip)

const GZIP_MAGIC = Buffer.from([0x1f, 0x8b])
const FIELD = 'data='
const NOT_BASE64 = /[^\w+/=-]/

/**
 * Decodes a body that is gzip, or a form whose field `data` is base64, without a header that says so. Any other body stays
 * as it is.
 * @throws AppError payload_too_large above `limit` bytes after decompression, bad_request for damaged gzip
 */
export const decodeUnlabelled = async (bytes: Buffer, limit: number): Promise<Buffer> => {
  if (bytes.subarray(0, GZIP_MAGIC.length).equals(GZIP_MAGIC)) {
    try {
      return await unzip(bytes, { maxOutputLength: limit })
    } catch (error) {
      throw bodyErrorOf(error, limit)
    }
  }
  if (!bytes.subarray(0, FIELD.length).equals(Buffer.from(FIELD))) return bytes
  // Not by `URLSearchParams`, which takes seconds for a body of a hundred thousand fields.
  const end = bytes.indexOf('&')
  const text = unescaped(bytes.toString('latin1', FIELD.length, end === -1 ? bytes.length : end))
  return text === '' || NOT_BASE64.test(text) ? bytes : Buffer.from(text, 'base64')
}

/** A value of a form without its escapes. Plus signs stay, because some clients do not escape those of base64. */
const unescaped = (value: string): string => {
  try {
    return decodeURIComponent(value).replaceAll(' ', '+')
  } catch {
    return value
  }
}
