import { AppError } from '@waymark/contracts/app-error'
import { essenceOf } from './json-body.ts'
import { readBody } from './read-bytes.ts'
import type { HttpRequest } from './request.ts'

const FORM_TYPE = 'application/x-www-form-urlencoded'

/**
 * Reads the fields of an HTML form of at most `limit` bytes.
 * @throws AppError unsupported_media_type for other types, payload_too_large above the limit
 */
export const readFormBody = async (
  request: Pick<HttpRequest, 'message' | 'deadline'>,
  limit: number,
): Promise<URLSearchParams> => {
  if (essenceOf(request.message.headers['content-type'] ?? '') !== FORM_TYPE)
    throw new AppError('unsupported_media_type', `The body must be a form, with Content-Type: ${FORM_TYPE}`)
  return new URLSearchParams((await readBody(request, limit)).toString('utf8'))
}
