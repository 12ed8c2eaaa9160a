import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { bodyErrorOf } from './read-bytes.ts'

const unzip = promisify(gunzip)

const GZIP_MAGIC = Buffer.from([0x1f, 0x8b])
const FIELD = 'data'
const BASE64 = /^[\w+/-]+=*$/

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
  if (!bytes.subarray(0, FIELD.length + 1).equals(Buffer.from(`${FIELD}=`))) return bytes
  // Some clients do not escape the plus signs of base64, which are spaces in a form.
  const text = new URLSearchParams(bytes.toString('latin1')).get(FIELD)?.replaceAll(' ', '+') ?? ''
  return BASE64.test(text) ? Buffer.from(text, 'base64') : bytes
}
