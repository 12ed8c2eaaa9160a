import { anEnrichedEvent } from '@waymark/testing'
import { expect, it } from 'vitest'
import type { Analytics } from '../src/port.ts'

const DAY = { from: new Date('2024-03-01T00:00:00Z'), to: new Date('2024-03-02T00:00:00Z') }

/** What an analytics store promises, asserted on one adapter. */
export const describeAnalytics = (open: () => Analytics): void => {
  const event = (projectId: string, eventId: string, timestamp: string, eventName = 'page_view') =>
    anEnrichedEvent({ projectId, event: { eventId, eventName, clientTimestamp: timestamp } })

  it('counts each event once, however often and from whichever month it is stored', async () => {
    const projectId = '01900000-0000-7000-8000-0000000000a1'
    const once = event(projectId, 'once', '2024-03-01T12:00:00Z')
    await open().storeEvents([once, once])
    await open().storeEvents([{ ...once, receivedAt: '2024-05-01T00:00:00.000Z' }])
    expect(await open().countEvents({ projectId, ...DAY })).toBe(1)
  })

  it('counts by time, the beginning included and the end not, by name and by project', async () => {
    const projectId = '01900000-0000-7000-8000-0000000000a2'
    await open().storeEvents([
      event(projectId, 'before', '2024-02-29T23:59:59.999Z'),
      event(projectId, 'first', '2024-03-01T00:00:00Z'),
      event(projectId, 'bought', '2024-03-01T23:59:59.999Z', 'order'),
      event(projectId, 'after', '2024-03-02T00:00:00Z'),
      event('01900000-0000-7000-8000-0000000000a3', 'foreign', '2024-03-01T12:00:00Z'),
    ])
    expect(await open().countEvents({ projectId, ...DAY })).toBe(2)
    expect(await open().countEvents({ projectId, ...DAY, eventName: 'order' })).toBe(1)
  })

  it('takes nothing', async () => {
    await expect(open().storeEvents([])).resolves.toBeUndefined()
  })
}
