import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { requestIdOf } from './request-id.ts'

/** What Node's parser calls the errors that have a status of their own; the others are bad requests. */
const REASONS: Readonly<Record<string, { status: number; message: string }>> = {
  HPE_HEADER_OVERFLOW: { status: 431, message: 'The request line and headers are too large' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, message: 'The chunk extensions are too large' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'The request did not arrive in time' },
}
const MALFORMED = { status: 400, message: 'The request is not HTTP' }

/** Why a connection is refused on which something else than a request arrived, or too little in time. */
export const reasonFor = (error: Error): { status: number; message: string } =>
  REASONS[`${(error as NodeJS.ErrnoException).code}`] ?? MALFORMED

/**
 * Answers on a bare connection in the form that every error has, and closes it. A client that is still sending has
 * `restMs` to read the answer: closed at once, it could miss it.
 */
export const refuseConnection = (
  connection: Duplex,
  { status, message }: { status: number; message: string },
  restMs: number,
): void => {
  const body = JSON.stringify({ error: message })
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'X-Content-Type-Options: nosniff',
    `X-Request-Id: ${requestIdOf(undefined)}`,
    'Connection: close',
  ]
  connection.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  const impatient = setTimeout(() => connection.destroy(), restMs)
  connection.once('close', () => clearTimeout(impatient))
}
