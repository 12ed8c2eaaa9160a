import { anEnrichedEvent, services, usedMemory } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Management, startManagement } from './start-management.ts'

/** `EXPORT_EVENTS=10000000` measures ten million. */
const EVENTS = Number(process.env.EXPORT_EVENTS ?? 100_000)
const EVENTS_PER_INSERT = 10_000
const MEBIBYTE = 1024 * 1024

describe.skipIf(!services)('the memory of an export', () => {
  let management: Management
  let url: string
  let headers: { 'X-API-Key': string }
  beforeAll(async () => {
    management = await startManagement()
    const { account } = await management.register()
    const projectId = account.projects[0]?.id ?? ''
    url = `${management.url}/api/projects/${projectId}/events/export`
    headers = { 'X-API-Key': await management.key(projectId) }
    const begin = Date.now() - EVENTS
    for (let first = 1; first <= EVENTS; first += EVENTS_PER_INSERT)
      await management.platform.eventStore.storeEvents(
        Array.from({ length: Math.min(EVENTS_PER_INSERT, EVENTS - first + 1) }, (_, n) => {
          const receivedAt = new Date(begin + first + n).toISOString()
          const properties = { price: 4990, currency: 'EUR' }
          const event = { eventId: `event-${first + n}`, visitorId: `visitor-${n % 1000}`, properties }
          return anEnrichedEvent({ projectId, receivedAt, event: { ...event, eventName: 'page_view' } })
        }),
      )
  })
  afterAll(() => management?.stop())

  it.each([
    // About a twentieth of the bytes of an event.
    ['jsonl', 20],
    ['csv', 10],
    ['parquet', 2],
  ])(
    'does not grow with the number of events: %s',
    { timeout: 180_000 + EVENTS },
    async (format, bytesPerCheck) => {
      const response = await fetch(`${url}?format=${format}`, { headers })
      expect(response.status).toBe(200)
      // Both ends of the stream are in this process, so few bytes are between them.
      let [bytes, lines, checked] = [0, 0, 0]
      const used: number[] = []
      for await (const piece of response.body ?? []) {
        bytes += piece.byteLength
        if (format !== 'parquet') for (const byte of piece) if (byte === 10) lines++
        if (bytes < checked + EVENTS * bytesPerCheck) continue
        checked = bytes
        used.push(usedMemory())
      }
      if (format !== 'parquet') expect(lines).toBe(format === 'csv' ? EVENTS + 1 : EVENTS)
      expect(used.length).toBeGreaterThan(10)
      const tenth = Math.ceil(used.length / 10)
      const early = Math.max(...used.slice(0, tenth))
      const late = Math.min(...used.slice(-tenth))
      // A Parquet file ends with the places of its row groups, which are kept until then: some 1.6 KB for 2,000 events.
      const places = format === 'parquet' ? EVENTS * 1.5 : 0
      expect(late - early).toBeLessThan(1.5 * MEBIBYTE + places)
    },
  )
})
