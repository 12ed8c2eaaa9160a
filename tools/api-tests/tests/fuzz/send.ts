import { Agent, request } from 'node:http'
import type { RawRequest } from './spoilt-request.ts'

/** A request without an answer by then, in ms, hangs. */
const DEADLINE_MS = 60_000

export type RawAnswer = { status: number; type: string; text: string }

/** Sends requests over keep-alive connections. @throws when a response is missing */
export const createSender = (baseUrl: string) => {
  const agent = new Agent({ keepAlive: true })
  const { port } = new URL(baseUrl)

  const send = ({ method, path, headers, body }: RawRequest): Promise<RawAnswer> =>
    new Promise((resolve, reject) => {
      // The client of Node.js omits it for a GET, and then the body looks like another request.
      const length = body && { 'Content-Length': body.length }
      const asked = {
        agent,
        host: 'localhost',
        port,
        method,
        path,
        headers: { ...headers, ...length },
        signal: AbortSignal.timeout(DEADLINE_MS),
      }
      const outgoing = request(asked, (response) => {
        const chunks: Buffer[] = []
        const done = () => {
          const { statusCode: status = 0, headers } = response
          resolve({ status, type: headers['content-type'] ?? '', text: Buffer.concat(chunks).toString() })
        }
        const isEndless = response.headers['content-type']?.startsWith('text/event-stream')
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk)
          if (!isEndless) return
          done()
          outgoing.destroy()
        })
        response.on('error', fail)
        response.on('end', done)
      })
      const fail = (error: Error): void => reject(error)
      outgoing.on('error', fail)
      outgoing.end(body)
    })

  return { send, close: () => agent.destroy() }
}
