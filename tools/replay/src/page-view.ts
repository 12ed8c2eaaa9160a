import { createHash } from 'node:crypto'
import { isIP } from 'node:net'
import type { AccessLogEntry } from './access-log.ts'
import type { Line } from './lines.ts'

/** An event for POST /api/v1/t. */
type PageView = {
  eventName: 'page_view'
  eventId: string
  visitorId: string
  clientTimestamp?: string
  properties: {
    url?: string
    path?: string
    referrer?: string
    userAgent?: string
    ip?: string
    status?: number
  }
}

// Together below the limit of 32 KiB for one event.
const MAX_JSON_BYTES = { url: 8_000, path: 8_000, referrer: 8_000, userAgent: 4_000 }

/**
 * The event of a line. The same line at the same number gives the same event with the same ids.
 *
 * @param site origin and base path of the log's paths, instead of the line's virtual host
 */
export const toPageView = (entry: AccessLogEntry, line: Line, site?: string): PageView => {
  const properties: PageView['properties'] = {}
  if (entry.target !== undefined) {
    const url = absoluteUrl(entry.target, site ?? entry.site ?? 'http://localhost')
    properties.url = fitting(url, MAX_JSON_BYTES.url)
    properties.path = fitting(pathOf(entry.target), MAX_JSON_BYTES.path)
  }
  if (entry.referrer !== undefined) properties.referrer = fitting(entry.referrer, MAX_JSON_BYTES.referrer)
  if (entry.userAgent !== undefined) properties.userAgent = fitting(entry.userAgent, MAX_JSON_BYTES.userAgent)
  const ip = entry.address.replace(/%.*$/s, '')
  if (isIP(ip) !== 0) properties.ip = ip
  if (entry.status !== undefined) properties.status = entry.status
  return {
    eventName: 'page_view',
    eventId: eventIdOf(line),
    visitorId: visitorIdOf(entry),
    ...(entry.time && { clientTimestamp: entry.time.toISOString() }),
    properties,
  }
}

/** A UUIDv8 from the line's number and bytes, so that equal lines differ and a second replay repeats the ids. */
export const eventIdOf = (line: Line): string => {
  const digest = createHash('sha256').update(`${line.number}\0`).update(line.bytes).digest()
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x80, 6)
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8)
  return digest.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** A visitor is an address with a user agent, as in log analyzers without cookies. */
export const visitorIdOf = (entry: Pick<AccessLogEntry, 'address' | 'userAgent'>): string => {
  const digest = createHash('sha256')
    .update(`${entry.address}\0${entry.userAgent ?? ''}`)
    .digest('hex')
  return `v_${digest.slice(0, 32)}`
}

const isAbsolute = (target: string): boolean => /^https?:\/\//i.test(target)

const absoluteUrl = (target: string, site: string): string => {
  if (isAbsolute(target)) return target
  return target.startsWith('/') ? site + target : `${site}/${target}`
}

const pathOf = (target: string): string => {
  const local = isAbsolute(target) ? target.replace(/^https?:\/\/[^/?#]*/i, '') : target
  return local.replace(/[?#].*$/s, '') || '/'
}

/** The longest prefix of a text that takes at most `maxBytes` as JSON. */
const fitting = (text: string, maxBytes: number): string => {
  // A character takes at most six bytes (\u0016), so most texts are not measured.
  if (text.length * 6 <= maxBytes) return text
  let bytes = 0
  let end = 0
  for (const character of text) {
    bytes += Buffer.byteLength(JSON.stringify(character)) - 2
    if (bytes > maxBytes) return text.slice(0, end)
    end += character.length
  }
  return text
}
