import { randomUUID } from 'node:crypto'
import type { DeliveryStatsView } from '@waymark/contracts/http/delivery-stats'
import { type Constellation, eventually } from '@waymark/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'

/** The audit of all events that the other suites have sent before, for the deployment that `start` begins. */
export const describeDeliveryAudit = (start: () => Promise<Constellation>): void => {
  let waymark: Constellation

  beforeAll(async () => {
    waymark = await start()
  })
  afterAll(() => waymark?.stop())

  const read = async (): Promise<DeliveryStatsView> => {
    const response = await waymark.request(`/api/projects/${waymark.projectId}/stats/deliveries`, {
      headers: { 'X-API-Key': waymark.apiKey },
    })
    expect(response.status).toBe(200)
    return (await response.json()) as DeliveryStatsView
  }

  it('finds every acknowledged event in the stores, once', async () => {
    const before = (await read()).lastDay.checked
    const events = Array.from({ length: 20 }, () => ({
      eventName: 'audited',
      eventId: randomUUID(),
      visitorId: 'visitor-audited',
    }))
    for (const path of ['/api/v1/t', '/api/v1/t?sync=1']) {
      const half = path === '/api/v1/t' ? events.slice(0, 10) : events.slice(10)
      const response = await waymark.request(path, {
        method: 'POST',
        headers: { 'X-API-Key': waymark.apiKey, 'Content-Type': 'application/json' },
        body: JSON.stringify({ events: half }),
      })
      expect(response.ok).toBe(true)
    }
    const stats = await eventually('all are checked', async () => {
      const now = await read()
      return now.lastDay.checked >= before + events.length && now
    })
    expect(stats).toMatchObject({ oneIn: 1, lastDay: { missing: 0, duplicated: 0 } })
    expect(stats.lastDay.delay?.p50).toBeGreaterThan(0)
  })
}
