import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Received = {
  id: string
  headers: IncomingHttpHeaders
  text: string
  payload: { type: string; data: Record<string, unknown> }
}

/** Answers a request, or never. */
export type Answer = (response: ServerResponse, received: Received) => void | Promise<void>

export const ok: Answer = (response) => void response.end('thanks')
export const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (response) =>
    void response.writeHead(code, headers).end(`answer ${code}`)
export const hang: Answer = () => {}
export const reset: Answer = (response) => void response.socket?.resetAndDestroy()

/** An endpoint on the loopback interface, which keeps what it received. */
export const startReceiver = async (answer: Answer = ok) => {
  const received: Received[] = []
  const state = { answer, open: 0, mostOpen: 0 }
  const server = createServer(async (request, response) => {
    state.open += 1
    state.mostOpen = Math.max(state.mostOpen, state.open)
    response.once('close', () => {
      state.open -= 1
    })
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    const one = {
      id: `${request.headers['webhook-id']}`,
      headers: request.headers,
      text,
      payload: JSON.parse(text),
    }
    received.push(one)
    await state.answer(response, one)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://localhost:${port}/hook`,
    received,
    ids: () => received.map(({ id }) => id),
    mostOpen: () => state.mostOpen,
    answerWith: (next: Answer) => {
      state.answer = next
    },
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>
