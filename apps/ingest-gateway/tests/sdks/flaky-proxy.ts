import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What happens to a request: its answer is lost on the way, or it is answered 503 and never arrives. */
type Fault = 'lose the answer' | '503'

/** A way to a server on which single requests fail. */
export type FlakyProxy = {
  url: string
  /** The faults that have happened. */
  faults: readonly Fault[]
  stop(): void
}

/** The faults, by the number of the POST request. */
const PLAN: ReadonlyMap<number, Fault> = new Map([
  [2, 'lose the answer'],
  [4, '503'],
])

/** Stands between an SDK and the server at `target`. */
export const startFlakyProxy = async (target: string): Promise<FlakyProxy> => {
  const faults: Fault[] = []
  let posts = 0
  const refuse = (req: IncomingMessage, res: ServerResponse): void => {
    req.resume().once('end', () => res.writeHead(503, { 'Retry-After': '1' }).end('{"error":"away"}'))
  }
  const server = createServer((req, res) => {
    const fault = req.method === 'POST' ? PLAN.get(++posts) : undefined
    if (fault) faults.push(fault)
    if (fault === '503') return refuse(req, res)
    const { method, headers } = req
    const upstream = request(`${target}${req.url}`, { method, headers }, (answer) => {
      if (fault === 'lose the answer') {
        answer.resume().once('end', () => req.socket.destroy())
      } else {
        res.writeHead(answer.statusCode ?? 500, answer.headers)
        answer.pipe(res)
      }
    })
    upstream.on('error', () => req.socket.destroy())
    req.pipe(upstream)
  })
  server.listen(0)
  await once(server, 'listening')
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    faults,
    stop: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
