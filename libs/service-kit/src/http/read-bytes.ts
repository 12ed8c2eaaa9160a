import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { AppError } from '@waymark/contracts'

const decoders = { gzip: createGunzip, deflate: createInflate, br: createBrotliDecompress } as const

/**
 * The body of a request, decompressed (gzip, deflate, br). It is refused as soon as it is known to be larger than
 * `limit` bytes, before or after decompression, whatever is still to come.
 * @throws AppError payload_too_large, unsupported_media_type for another encoding, bad_request when it is damaged or
 * ends too early
 */
export const readBytes = (req: IncomingMessage, limit: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    // Without headers that announce a body nothing comes, and no end of it either.
    if (req.readableEnded) return resolve(Buffer.alloc(0))
    const decoded = decode(req)
    const chunks: Buffer[] = []
    let refused = false

    const refuse = (error: AppError): void => {
      refused = true
      if (decoded !== req) {
        req.unpipe()
        decoded.destroy()
      }
      reject(error)
    }
    const measure = (stream: Readable, keep?: (chunk: Buffer) => void): void => {
      let size = 0
      stream.on('data', (chunk: Buffer) => {
        size += chunk.length
        if (refused) return
        if (size > limit) refuse(tooLarge())
        else keep?.(chunk)
      })
    }

    if (Number(req.headers['content-length']) > limit) return refuse(tooLarge())
    measure(decoded, (chunk) => chunks.push(chunk))
    // Compressed it could go on for ever and never become anything.
    if (decoded !== req) measure(req)
    decoded.once('end', () => {
      // The request keeps its listeners, and they the chunks, for as long as it is not answered.
      const all = chunks.splice(0)
      resolve(all.length === 1 && all[0] ? all[0] : Buffer.concat(all))
    })
    decoded.on('error', () => refuse(new AppError('bad_request', 'The request is malformed')))
    req.once('close', () => {
      if (!req.complete) refuse(new AppError('bad_request', 'The request ended before its body did'))
    })
  })

/** @throws AppError unsupported_media_type */
const decode = (req: IncomingMessage): Readable => {
  const encoding = (req.headers['content-encoding'] ?? 'identity').toLowerCase()
  if (encoding === 'identity') return req
  const known = (Object.keys(decoders) as (keyof typeof decoders)[]).find((name) => name === encoding)
  if (!known) throw new AppError('unsupported_media_type', 'The Content-Encoding is not supported')
  return req.pipe(decoders[known]())
}

const tooLarge = (): AppError => new AppError('payload_too_large', 'The request body is too large')
