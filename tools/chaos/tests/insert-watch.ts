import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** A proxy in front of ClickHouse. */
export type InsertWatch = {
  url: string
  /** Called when events are stored but the client has not received the response; `undefined` without a listener. */
  onStored: (() => void) | undefined
  stop(): Promise<void>
}

const HOP_HEADERS = new Set(['connection', 'content-length', 'host', 'keep-alive', 'transfer-encoding'])

/** Starts a proxy that notices when ClickHouse has acknowledged an insertion of events. */
export const watchInserts = async (serverUrl: string): Promise<InsertWatch> => {
  const target = new URL(serverUrl)
  const watch: InsertWatch = {
    url: '',
    onStored: undefined,
    stop: async () => void server.close(),
  }
  const server: Server = createServer(async (req, res) => {
    const headers = Object.entries(req.headers).filter(([name]) => !HOP_HEADERS.has(name))
    const response = await fetch(new URL(req.url ?? '/', target.origin), {
      method: req.method ?? 'POST',
      headers: headers.map(([name, value]) => [name, `${value}`] as [string, string]),
      ...(req.method === 'POST' && { body: await buffer(req) }),
    })
    const body = Buffer.from(await response.arrayBuffer())
    if (response.ok && /INSERT INTO events/i.test(decodeURIComponent(req.url ?? '').replaceAll('+', ' ')))
      watch.onStored?.()
    const answered = [...response.headers].filter(
      ([name]) => !HOP_HEADERS.has(name) && name !== 'content-encoding',
    )
    res.writeHead(response.status, Object.fromEntries(answered)).end(body)
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { username, password } = target
  watch.url = `http://${username}:${password}@127.0.0.1:${(server.address() as AddressInfo).port}`
  return watch
}
