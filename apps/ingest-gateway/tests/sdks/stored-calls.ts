import { type Constellation, eventually, extent } from '@waymark/testing'
import { expect } from 'vitest'

/** Calls of each kind. */
export const CALLS = extent(40, 1_000)

/** The content of a call: the run, and the number of the call in it. */
type Numbered = { run?: string; n?: number; traits?: { run?: string; n?: number } }
type StoredEvent = { eventName: string; properties: Numbered }

/** The events of a run, and the property that names the run. */
const EVENTS = [
  ['sdk_track', 'properties.run'],
  ['page_view', 'properties.run'],
  ['screen_view', 'properties.run'],
  ['group', 'properties.traits.run'],
] as const

const DAY_MS = 86_400_000

/** How many events of each name a run has stored. */
const countsOf = async ({ request, projectId }: Constellation, run: string): Promise<number[]> => {
  const response = await request(`/api/projects/${projectId}/analytics/trends`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      series: EVENTS.map(([eventName, property]) => ({
        eventName,
        metric: 'events',
        filters: [{ property, op: 'eq', value: run }],
      })),
      from: new Date(Date.now() - DAY_MS).toISOString(),
      to: new Date(Date.now() + DAY_MS).toISOString(),
      interval: 'day',
      includeBots: true,
    }),
  })
  const { series } = (await response.json()) as { series?: { total: number }[] }
  return series?.map(({ total }) => total) ?? []
}

/** The numbers of the calls of a run, by the names of their events. */
const numbersOf = async (
  { request, projectId }: Constellation,
  run: string,
): Promise<Map<string, Set<number>>> => {
  const response = await request(`/api/projects/${projectId}/events/export?format=jsonl`)
  const found = new Map<string, Set<number>>()
  for (const line of (await response.text()).split('\n').filter(Boolean)) {
    const { eventName, properties } = JSON.parse(line) as StoredEvent
    const { run: ofRun, n = -1 } = eventName === 'group' ? (properties.traits ?? {}) : properties
    if (ofRun === run) found.set(eventName, (found.get(eventName) ?? new Set()).add(n))
  }
  return found
}

/** Waits until the calls of a run are stored, and fails unless each is stored once. */
export const expectStoredOnce = async (waymark: Constellation, run: string, calls = CALLS): Promise<void> => {
  const all = EVENTS.map(() => calls)
  await eventually('all calls are stored', async () =>
    (await countsOf(waymark, run)).every((count, at) => count >= (all[at] ?? 0)),
  )
  expect(await countsOf(waymark, run)).toEqual(all)
  const numbers = await numbersOf(waymark, run)
  expect(EVENTS.map(([eventName]) => numbers.get(eventName)?.size)).toEqual(all)
}

type Profile = { id: string; traits: Record<string, unknown> }

/** The profile of an id, if there is one. */
export const profileOf = async (
  { request, projectId }: Constellation,
  kind: 'userId' | 'visitorId',
  value: string,
): Promise<Profile | undefined> => {
  const response = await request(`/api/projects/${projectId}/profiles?${kind}=${value}`)
  return ((await response.json()) as { data: Profile[] }).data[0]
}

/** Waits until the three ids of some people of a run are one person each, with the traits of all calls. */
export const expectMerged = async (waymark: Constellation, run: string): Promise<void> => {
  for (const n of [0, 1, CALLS / 2, CALLS - 1]) {
    await eventually('they are one person', async () => {
      const profile = await profileOf(waymark, 'userId', `${run}-user-${n}`)
      expect(profile?.traits).toEqual({ n, 'groups.acme': { run, n } })
      for (const visitor of [`${run}-visitor-${n}`, `${run}-previous-${n}`])
        expect((await profileOf(waymark, 'visitorId', visitor))?.id).toBe(profile?.id)
      return true
    })
  }
}
