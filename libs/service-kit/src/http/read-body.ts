import { type IncomingMessage, ServerResponse } from 'node:http'
import { AppError } from '@waymark/contracts'
import express from 'express'

/**
 * The body of a request, of at most `limit` bytes, decompressed.
 * @throws AppError payload_too_large or bad_request, and what Express's body parser throws for a compressed body
 */
export const readBody = (req: IncomingMessage, limit: number): Promise<Buffer> =>
  (req.headers['content-encoding'] ?? 'identity') === 'identity'
    ? readPlainBody(req, limit)
    : readCompressedBody(req, limit)

const readPlainBody = (req: IncomingMessage, limit: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    const onData = (chunk: Buffer): void => {
      length += chunk.length
      if (length > limit) refuse(tooLarge())
      else chunks.push(chunk)
    }
    const onClose = (): void => {
      if (!req.complete) refuse(new AppError('bad_request', 'The request ended before its body did'))
    }
    const refuse = (error: Error): void => {
      // What still comes is read by the server and thrown away once the answer is given.
      req.off('data', onData).pause()
      reject(error)
    }
    if (Number(req.headers['content-length'] ?? 0) > limit) return reject(tooLarge())
    req.on('data', onData)
    req.once('end', () => {
      const [only] = chunks
      resolve(chunks.length === 1 && only ? only : Buffer.concat(chunks, length))
    })
    req.once('error', refuse)
    req.once('close', onClose)
  })

const tooLarge = () => new AppError('payload_too_large', 'The request body is too large')

/** Compressed ones are few and large: Express's own parser knows how to bound them. */
const readCompressedBody = (req: IncomingMessage, limit: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    // The parser looks at nothing of either that Node's own have not.
    const parse = express.raw({ type: () => true, limit }) as unknown as Parser
    parse(req, new ServerResponse(req), (error) => {
      const { body } = req as { body?: unknown }
      if (error !== undefined) reject(error)
      else resolve(Buffer.isBuffer(body) ? body : Buffer.alloc(0))
    })
  })

type Parser = (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => void
