import { AppError } from '@waymark/contracts/app-error'

/** The fields of a form whose text may be the whole body. */
const BODY_FIELDS = ['data', 'payload', 'json', 'body']
const URL_ENCODED = 'application/x-www-form-urlencoded'
const FORM_TYPES = [URL_ENCODED, 'multipart/form-data']
/** Reading a hundred thousand fields would delay other requests. */
export const MAX_FORM_FIELDS = 1_000

/** Whether a media type, without parameters, is that of a form. */
export const isForm = (essence: string): boolean => FORM_TYPES.includes(essence)

/**
 * The JSON in a form that a page sent, such as `navigator.sendBeacon` with `URLSearchParams` or `FormData`: the body itself
 * if it is JSON in spite of its type, else the field `data` (or `payload`, `json`, `body`) with the other fields as further
 * members, else all fields as members. A field that is JSON of an object or a list is one.
 * @throws AppError bad_request for a form that cannot be read, payload_too_large above `MAX_FORM_FIELDS`
 */
export const jsonOfForm = async (bytes: Buffer, contentType: string): Promise<Buffer> => {
  if (isJson(bytes.toString('utf8'))) return bytes
  requireFewFields(bytes, contentType)
  const fields = await fieldsOf(bytes, contentType)
  const body = BODY_FIELDS.find((name) => isJson(fields.get(name) ?? ''))
  const text = body === undefined ? '{}' : (fields.get(body) ?? '').trim()
  if (body !== undefined) fields.delete(body)
  // A list has no members.
  if (!text.startsWith('{') || fields.size === 0) return Buffer.from(text)
  const members = [...fields].map(
    ([name, value]) => `${JSON.stringify(name)}:${isJson(value) ? value : JSON.stringify(value)}`,
  )
  const rest = text.slice('{'.length).trimStart()
  return Buffer.from(`{${members.join(',')}${rest === '}' ? '' : ','}${rest}`)
}

/** @throws AppError payload_too_large when there may be more fields than are read */
const requireFewFields = (bytes: Buffer, contentType: string): void => {
  const isUrlEncoded = contentType.toLowerCase().startsWith(URL_ENCODED)
  const mark = isUrlEncoded ? '&' : 'form-data'
  let fields = isUrlEncoded ? 1 : 0
  for (
    let at = bytes.indexOf(mark);
    at !== -1 && fields <= MAX_FORM_FIELDS;
    at = bytes.indexOf(mark, at + mark.length)
  )
    fields++
  if (fields > MAX_FORM_FIELDS)
    throw new AppError('payload_too_large', `The form has more than ${MAX_FORM_FIELDS} fields`)
}

const fieldsOf = async (bytes: Buffer, contentType: string): Promise<Map<string, string>> => {
  const fields = new Map<string, string>()
  try {
    const headers = { 'Content-Type': contentType }
    const form = await new Response(new Uint8Array(bytes), { headers }).formData()
    for (const [name, value] of form) fields.set(name, typeof value === 'string' ? value : await value.text())
  } catch {
    throw new AppError('bad_request', 'The body is not a valid form')
  }
  return fields
}

const isJson = (text: string): boolean => {
  if (!/^\s*[{[]/.test(text)) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
