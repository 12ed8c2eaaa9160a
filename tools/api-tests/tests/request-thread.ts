import { Worker } from 'node:worker_threads'

/** A request from another thread, so that sending and reading it does not count as the server's time. */
type ThreadRequest = {
  url: string
  method: string
  headers: Record<string, string>
  /** Sent unchanged if it is a string, otherwise as JSON. */
  body?: unknown
}
/** The response; of a long body only the beginning. */
export type ThreadAnswer = { status: number; text: string; bytes: number }

const CODE = `
  const { parentPort } = require('node:worker_threads')
  parentPort.on('message', async ({ id, url, init }) => {
    try {
      const response = await fetch(url, init)
      const text = await response.text()
      parentPort.postMessage({ id, answer: { status: response.status, text: text.slice(0, 20000), bytes: text.length } })
    } catch (error) {
      parentPort.postMessage({ id, answer: { status: 0, text: String(error), bytes: 0 } })
    }
  })`

/** Starts a thread that sends requests. */
export const startRequestThread = () => {
  const worker = new Worker(CODE, { eval: true })
  const waiting = new Map<number, (answer: ThreadAnswer) => void>()
  let requests = 0
  worker.on('message', ({ id, answer }: { id: number; answer: ThreadAnswer }) => {
    waiting.get(id)?.(answer)
    waiting.delete(id)
  })
  return {
    /** Resolves with the response, or status 0 if there is none. The body is written before the measurement. */
    prepare: ({ url, body, ...init }: ThreadRequest): (() => Promise<ThreadAnswer>) => {
      const bytes = new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body))
      return () =>
        new Promise((resolve) => {
          const id = requests++
          waiting.set(id, resolve)
          worker.postMessage({ id, url, init: { ...init, ...(body !== undefined && { body: bytes }) } })
        })
    },
    stop: () => worker.terminate(),
  }
}
