import { Worker } from 'node:worker_threads'

/** A request of a flood. `{n}` in its path, its headers and its body is the number of the request. */
export type FloodRequest = {
  path: string
  method?: string
  headers?: Record<string, string>
  body?: string
}

export type FloodOptions = {
  port: number
  /** Sent in turn. */
  requests: readonly FloodRequest[]
  /** Requests that wait for their answers at once. */
  connections: number
  /** Default: as many as the connections allow. */
  perSecond?: number
  /** Bytes of an answer that are read in a second, by a client that reads slowly. */
  bytesPerSecond?: number
}

/** Counts of the answers, by status. 0 counts requests without an answer. */
export type FloodCounts = Record<string, number>

const CODE = `
  const { parentPort, workerData } = require('node:worker_threads')
  const { Agent, request } = require('node:http')
  const { port, requests, connections, perSecond = Infinity, bytesPerSecond } = workerData
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const counts = {}
  const begun = performance.now()
  let sent = 0
  let ended = false
  const fill = (text, n) => text?.replaceAll('{n}', n)
  const read = (response) => new Promise((resolve) => {
    response.on('close', resolve)
    response.on('error', resolve)
    if (!bytesPerSecond) return response.resume()
    response.on('data', (chunk) => {
      response.pause()
      setTimeout(() => response.resume(), (chunk.length / bytesPerSecond) * 1000)
    })
  })
  const send = (n) => new Promise((resolve) => {
    const { path, method = 'GET', headers, body } = requests[n % requests.length]
    const filled = Object.entries(headers ?? {}).map(([name, value]) => [name, fill(value, n)])
    const sending = request({
      port, agent, method, path: fill(path, n),
      headers: { ...(body && { 'Content-Type': 'application/json' }), ...Object.fromEntries(filled) },
    })
    sending.on('error', () => resolve(0))
    sending.on('response', (response) => read(response).then(() => resolve(response.statusCode)))
    sending.end(fill(body, n))
  })
  const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
  const client = async () => {
    while (!ended) {
      const n = sent++
      const wait = begun + (n / perSecond) * 1000 - performance.now()
      if (wait > 0) await sleep(wait)
      if (ended) return
      const status = await send(n)
      if (!ended) counts[status] = (counts[status] ?? 0) + 1
    }
  }
  for (let n = 0; n < connections; n++) client()
  parentPort.on('message', () => {
    ended = true
    parentPort.postMessage(counts)
    agent.destroy()
  })`

/** Sends requests from a thread of its own, until it is stopped. */
export const startFlood = (options: FloodOptions) => {
  const worker = new Worker(CODE, { eval: true, workerData: options })
  return {
    stop: async (): Promise<FloodCounts> => {
      const counts = new Promise<FloodCounts>((resolve) => worker.once('message', resolve))
      worker.postMessage('stop')
      const counted = await counts
      await worker.terminate()
      return counted
    },
  }
}
