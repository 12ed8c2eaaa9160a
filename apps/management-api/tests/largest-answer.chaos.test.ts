import { createDuckDBStore, type DuckDBFile, openDuckDBFile } from '@waymark/event-store/duckdb'
import { services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Management, startManagement } from './start-management.ts'

const FROM = Date.parse('2025-01-01T00:00:00Z')
const DAY_MS = 24 * 60 * 60 * 1000
const daysOn = (days: number): string => new Date(FROM + days * DAY_MS).toISOString()
describe.skipIf(!services)('the largest answer', () => {
  let management: Management
  let file: DuckDBFile
  beforeAll(async () => {
    const limits = { memoryBytes: 256 * 1024 * 1024, threads: 2, queryTimeoutMs: 60_000 }
    file = await openDuckDBFile({ path: ':memory:', ...limits })
    management = await startManagement({
      adapt: (platform) => ({ ...platform, eventStore: createDuckDBStore(file) }),
    })
  })
  afterAll(async () => {
    await management?.stop()
    await file?.close()
  })

  it('does not delay other requests', async () => {
    const { account } = await management.register()
    const projectId = account.projects[0]?.id ?? ''
    const headers = { 'X-API-Key': await management.key(projectId), 'Content-Type': 'application/json' }
    const [names, currencies, days] = [100, 150, 10]
    const paid = `[{ selector_id: gen_random_uuid(), amount: 1, currency: 'C' || (n // ${names} % ${currencies}) }]`
    await file.write([
      [
        `INSERT INTO events (project_id, event_key, "time", event_name, bot, warnings, conversions, properties, erased)
         SELECT $1, gen_random_uuid(), TIMESTAMP '2025-01-01' + to_days((n // ${names * currencies})::INTEGER),
           'name ' || (n % ${names}), false, 0, ${paid}, '{}', false
         FROM range(${names * currencies * days}) AS numbers (n)`,
        [projectId],
      ],
    ])
    const asked = { series: [{ metric: 'revenue' }], from: daysOn(0), to: daysOn(days), interval: 'day' }
    // A part of the CPU time of this thread, because neither other processes nor a slow machine affect it.
    const cpuMs = () => process.threadCpuUsage().user / 1_000
    const startedAt = cpuMs()
    let [turn, longest] = [startedAt, 0]
    const turns = setInterval(() => {
      longest = Math.max(longest, cpuMs() - turn)
      turn = cpuMs()
    }, 1)
    const reply = await fetch(`${management.url}/api/projects/${projectId}/analytics/trends`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ ...asked, breakdown: 'eventName', limit: names }),
    })
    const text = await reply.text()
    clearInterval(turns)
    const whole = cpuMs() - startedAt
    const { series } = JSON.parse(text) as { series: { total: number; values: number[] }[] }
    expect(series).toHaveLength(names * currencies)
    expect(series.every(({ total, values }) => total === days && values.every((value) => value === 1))).toBe(
      true,
    )
    expect(longest).toBeLessThan(whole / 2)
  })
})
