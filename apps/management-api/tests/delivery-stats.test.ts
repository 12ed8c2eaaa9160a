import type { DeliveryStatsView } from '@waymark/contracts/http/delivery-stats'
import { services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Management, startManagement } from './start-management.ts'

const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS
const CHECKS =
  'INSERT INTO ingest.delivery_checks (project_id, hour, outcome, seconds, n) VALUES ($1, $2, $3, $4, $5)'
const SAMPLE = `
  INSERT INTO ingest.delivery_samples (project_id, event_key, received_at, occurred_at, conversions, next_check_at)
  VALUES ($1, gen_random_uuid(), $2, $2, 0, now())`

describe.skipIf(!services)('what the delivery audit has found', () => {
  let management: Management
  beforeAll(async () => {
    management = await startManagement()
  })
  afterAll(() => management?.stop())

  const owner = async () => {
    const user = await management.register()
    const projectId = user.account.projects[0]?.id ?? ''
    const read = async (): Promise<DeliveryStatsView> => {
      const response = await user.request('GET', `/api/projects/${projectId}/stats/deliveries`)
      expect(response.status).toBe(200)
      return (await response.json()) as DeliveryStatsView
    }
    return { projectId, read }
  }

  it('is nothing in a new project', async () => {
    const { read } = await owner()
    expect(await read()).toEqual({
      oneIn: 100,
      lastDay: { checked: 0, missing: 0, duplicated: 0, delay: null },
      waiting: { events: 0, oldestSeconds: 0 },
      days: [],
    })
  })

  it('is shown for the last 24 hours and by day, and only of the project', async () => {
    const [mine, other] = [await owner(), await owner()]
    const now = Date.now()
    const at = (agoMs: number) => new Date(Math.floor((now - agoMs) / HOUR_MS) * HOUR_MS)
    const add = (agoMs: number, outcome: string, seconds: number, n: number) =>
      management.db.pool.query(CHECKS, [mine.projectId, at(agoMs), outcome, seconds, n])
    await add(0, 'stored', 1, 98)
    await add(0, 'stored', 5, 1)
    await add(0, 'stored', 60, 1)
    await add(0, 'missing', 0, 2)
    await add(0, 'excused', 0, 7)
    await add(2 * DAY_MS, 'duplicated', 0, 3)
    await add(32 * DAY_MS, 'missing', 0, 9)
    await management.db.pool.query(SAMPLE, [mine.projectId, new Date(now - HOUR_MS)])
    const { lastDay, waiting, days } = await mine.read()
    expect(lastDay).toEqual({ checked: 102, missing: 2, duplicated: 0, delay: { p50: 1, p99: 5 } })
    expect(waiting.events).toBe(1)
    expect(waiting.oldestSeconds).toBeGreaterThanOrEqual(3_600)
    const dateOf = (agoMs: number) => at(agoMs).toISOString().slice(0, 10)
    expect(days).toEqual([
      { date: dateOf(0), checked: 102, missing: 2, duplicated: 0 },
      { date: dateOf(2 * DAY_MS), checked: 3, missing: 0, duplicated: 3 },
    ])
    expect((await other.read()).lastDay.checked).toBe(0)
  })
})
