import { setTimeout as sleep } from 'node:timers/promises'
import { docker, extent, freePort, requireServices, services, startPostgres } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { report } from './audit.ts'
import { createFleet, type Fleet } from './fleet.ts'

/** Clients of each kind of request. */
const CLIENTS = 4
const PEOPLE = 20
const PHASE_MS = extent(8_000, 20_000)
/** The p99 of a busy machine varies by less than this, in ms. Requests that wait for PostgreSQL take at least 1,500 ms. */
const NOISE_MS = 1_000

const post = (body: object): RequestInit => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
})

describe.skipIf(!services)('a PostgreSQL that hangs', () => {
  let fleet: Fleet
  let requests: Record<string, () => Promise<Response>>
  let postgres: Awaited<ReturnType<typeof startPostgres>>

  beforeAll(async () => {
    // The port stays the same when the container restarts.
    postgres = await startPostgres({ port: await freePort() })
    fleet = await createFleet({ ...requireServices(), postgresUrl: postgres.url })
    const [gateway, decisions, redirector] = await Promise.all([
      fleet.start('ingest-gateway'),
      fleet.start('decision-service'),
      fleet.start('link-redirector'),
    ])
    await fleet.db.prisma.shortLink.create({
      data: {
        id: uuidv7(),
        projectId: fleet.projectId,
        code: 'hung',
        status: 'active',
        tags: [],
        destination: 'https://shop.example/',
      },
    })
    for (let n = 0; n < PEOPLE; n++)
      await gateway.request('/api/v1/identify', post({ visitorId: `known ${n}`, userId: `user ${n}` }))
    const decide = (visitorId: string) =>
      decisions.request('/api/v1/decide', post({ visitorId, keys: ['none'] }))
    requests = {
      'decisions about known people': () => decide(`known ${Math.floor(Math.random() * PEOPLE)}`),
      'decisions about new people': () => decide(uuidv7()),
      redirects: () => redirector.request('/s/hung', { redirect: 'manual' }),
    }
  }, 240_000)
  afterAll(async () => {
    await fleet?.stop()
    await postgres?.container.stop({ timeout: 0 })
  })

  const failed: string[] = []
  /** Sends requests of every kind for a while. Returns the p99 of each in ms. */
  const measure = async (): Promise<Record<string, number>> => {
    const end = performance.now() + PHASE_MS
    const measured = Object.entries(requests).map(async ([kind, send]): Promise<[string, number]> => {
      const took: number[] = []
      const client = async (): Promise<void> => {
        while (performance.now() < end) {
          const startedAt = performance.now()
          const response = await send()
          await response.text()
          took.push(performance.now() - startedAt)
          if (response.status >= 400) failed.push(`${kind}: ${response.status}`)
          await sleep(10)
        }
      }
      await Promise.all(Array.from({ length: CLIENTS }, client))
      return [kind, Math.round(took.toSorted((a, b) => a - b)[Math.floor(took.length * 0.99)] ?? 0)]
    })
    return Object.fromEntries(await Promise.all(measured))
  }

  it('delays neither decisions nor redirects', async () => {
    // The first answers of processes that have just started are slow, and 503 when the machine is too busy.
    await measure()
    failed.length = 0
    const before = await measure()
    await docker('pause', postgres.container.getId())
    const meanwhile = await measure()
    await docker('unpause', postgres.container.getId())
    expect(failed).toEqual([])
    report('p99 in ms before PostgreSQL hangs', before)
    report('p99 in ms while PostgreSQL hangs', meanwhile)
    for (const [kind, p99] of Object.entries(meanwhile))
      expect([kind, p99]).toEqual([kind, Math.min(p99, (before[kind] ?? 0) + NOISE_MS)])
  }, 170_000)
})
