import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'

/** The response of a fake server; undefined means that it never responds. */
export type Reply = { status: number; body: unknown; headers?: Record<string, string> } | undefined

/** A request that a fake server received. */
export type Seen = { url: string; key: string | undefined; events: { eventId: string }[]; length: number }

export type FakeWaymark = {
  url: string
  seen: Seen[]
  /** Every accepted event by its id; a duplicate counts once. */
  stored: Map<string, unknown>
  /** Closes all connections and stops listening. */
  close: () => Promise<void>
}

/** For tests: a fake of Waymark's ingestion API on a real socket. It accepts all events by default. */
export const startFakeWaymark = async (
  reply: (seen: Seen, turn: number) => Reply | 'accept' | 'cut' = () => 'accept',
  { port = 0, stored = new Map<string, unknown>() } = {},
): Promise<FakeWaymark> => {
  const seen: Seen[] = []
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readAll(request)
    const { events } = JSON.parse(body.toString()) as Pick<Seen, 'events'>
    const key = request.headers['x-api-key']
    const current = { url: request.url ?? '', key: key?.toString(), events, length: body.byteLength }
    seen.push(current)
    const answer = reply(current, seen.length)
    if (answer === undefined) return
    if (answer === 'cut') {
      // Stored, but the response is lost.
      for (const event of events) stored.set(event.eventId, event)
      request.socket.destroy()
      return
    }
    if (answer === 'accept') for (const event of events) stored.set(event.eventId, event)
    const { status, body: content, headers } = answer === 'accept' ? accepted(events.length) : answer
    response.writeHead(status, headers).end(typeof content === 'string' ? content : JSON.stringify(content))
  }
  const server = createServer((request, response) => {
    handle(request, response).catch(() => request.socket.destroy())
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const actual = typeof address === 'object' && address ? address.port : port
  return { url: `http://127.0.0.1:${actual}`, seen, stored, close: () => closeServer(server) }
}

/** The asynchronous response when a whole batch is accepted. */
export const accepted = (count: number) => ({
  status: 202,
  body: { accepted: count, failed: 0, queued: count, processed: false },
  headers: {},
})

const closeServer = async (server: Server): Promise<void> => {
  server.closeAllConnections()
  if (!server.listening) return
  server.close()
  await once(server, 'close')
}

const readAll = async (request: IncomingMessage): Promise<Buffer> => {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts)
}
