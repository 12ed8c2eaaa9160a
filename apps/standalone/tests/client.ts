import type { Constellation } from '@waymark/testing'
import { afterAll } from 'vitest'

export type Json = { [field: string]: unknown }
export type Reply = { status: number; body: Json }

/** Calls a constellation with JSON; `waymark` is asked at each call, since tests start it later. */
export const createClient = (waymark: () => Constellation) => {
  const call = async (method: string, path: string, body?: unknown): Promise<Reply> => {
    const response = await waymark().request(path, {
      method,
      headers: { 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? {} : JSON.parse(text) }
  }
  return {
    call,
    /** Calls a resource of the project. */
    manage: (method: string, resource: string, body?: unknown): Promise<Reply> =>
      call(method, `/api/projects/${waymark().projectId}/${resource}`, body),
  }
}

/** A start that all groups of a file share, since it costs more than most of them; the file's end stops it. */
export const startOnce = (start: () => Promise<Constellation>): (() => Promise<Constellation>) => {
  let started: Promise<Constellation> | undefined
  afterAll(async () => (await started)?.stop())
  return async () => {
    started ??= start()
    return { ...(await started), stop: async () => {} }
  }
}
