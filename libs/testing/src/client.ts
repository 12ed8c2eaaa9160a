import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { Constellation } from './constellation.ts'
import { eventually } from './eventually.ts'

export type Json = { [field: string]: unknown }
export type Reply = { status: number; body: Json }

/** Calls a constellation with JSON. `waymark` is called each time, because tests start it later. */
export const createClient = (waymark: () => Pick<Constellation, 'projectId' | 'request'>) => {
  const call = async (method: string, path: string, body?: unknown): Promise<Reply> => {
    const response = await waymark().request(path, {
      method,
      headers: { 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? {} : JSON.parse(text) }
  }
  /** Calls a resource of the project. */
  const manage = (method: string, resource: string, body?: unknown): Promise<Reply> =>
    call(method, `/api/projects/${waymark().projectId}/${resource}`, body)
  return {
    call,
    manage,
    /** Makes events conversions, and waits until the gateway applies that. */
    meter: async (selector: Json & { eventName: string }): Promise<void> => {
      expect((await manage('POST', 'metering-selectors', selector)).status).toBe(201)
      await eventually('the selector is known', async () => {
        const { eventName } = selector
        const probe = { eventName, visitorId: `v-${randomUUID()}`, eventId: randomUUID() }
        return (await call('POST', '/api/v1/t?sync=1', probe)).body.queued === 1
      })
    },
  }
}
