import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import {
  type Constellation,
  eventually,
  freePort,
  services,
  startDistributed,
  startKafka,
  startPostgres,
  startRedis,
} from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConversionIds, readEventIds } from './stored.ts'

const docker = promisify(execFile)

/** How long a server is away, and how much longer requests are sent when it is back, in ms. */
const AWAY_MS = 12_000
const AFTERWARDS_MS = 3_000
/** The longest that anybody may wait for an answer, in ms. */
const DEADLINE_MS = 5_500
const SENDERS = 4

type Sent = { id: string; metering: boolean; status: number; tookMs: number; error: unknown }

const send = async (waymark: Constellation, id: string, metering: boolean): Promise<Sent> => {
  const event = { eventName: metering ? 'ordered' : 'page_view', visitorId: `visitor of ${id}`, eventId: id }
  const started = performance.now()
  const response = await waymark.request('/api/v1/t', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ ...event, properties: { total: 500 } }),
    signal: AbortSignal.timeout(20_000),
  })
  const { error } = (await response.json()) as { error?: unknown }
  return { id, metering, status: response.status, tookMs: performance.now() - started, error }
}

/** Sends one event after another, every fourth a conversion, until it is told to stop. */
const startLoad = (waymark: Constellation, name: string) => {
  const sent: Sent[] = []
  let going = true
  const senders = Array.from({ length: SENDERS }, async (_, sender) => {
    for (let n = 0; going; n++) {
      sent.push(await send(waymark, `${name}-${sender}-${n}`, n % 4 === 3))
      await sleep(5)
    }
  })
  return async (): Promise<Sent[]> => {
    going = false
    await Promise.all(senders)
    return sent
  }
}

describe.skipIf(!services)('when a server is stopped under load', () => {
  let containers: Record<'kafka' | 'postgres' | 'redis', string>
  let waymark: Constellation
  const stopAll: (() => Promise<unknown>)[] = []

  beforeAll(async () => {
    const [kafka, postgres, redis] = await Promise.all([
      startKafka(),
      startPostgres({ port: await freePort() }),
      startRedis({ port: await freePort() }),
    ])
    for (const { container } of [kafka, postgres, redis]) stopAll.push(() => container.stop({ timeout: 0 }))
    containers = {
      kafka: kafka.container.getId(),
      postgres: postgres.container.getId(),
      redis: redis.container.getId(),
    }
    waymark = await startDistributed({
      kafkaBrokers: kafka.brokers,
      postgresUrl: postgres.url,
      redisUrl: redis.url,
    })
    stopAll.unshift(() => waymark.stop())
    const selector = JSON.stringify({ eventName: 'ordered', amountProperty: 'total' })
    const headers = { 'Content-Type': 'application/json' }
    await waymark.request(`/api/projects/${waymark.projectId}/metering-selectors`, {
      method: 'POST',
      headers,
      body: selector,
    })
    await eventually('conversions are counted', async () => {
      await send(waymark, 'first', true)
      return (await readConversionIds(waymark)).length > 0
    })
  })
  afterAll(async () => {
    for (const stop of stopAll) await stop()
  })

  const outages = {
    killed: { begin: 'kill', end: 'start' },
    // Connections stay open and nobody answers.
    frozen: { begin: 'pause', end: 'unpause' },
  } as const
  const cases = (['kafka', 'postgres', 'redis'] as const).flatMap((server) =>
    (['killed', 'frozen'] as const).map((how) => [server, how] as const),
  )

  it.each(cases)(
    'keeps what it promised while %s is %s',
    async (server, how) => {
      const name = `${server}-${how}`
      const stop = startLoad(waymark, name)
      await sleep(1_000)
      await docker('docker', [outages[how].begin, containers[server]])
      await sleep(AWAY_MS)
      await docker('docker', [outages[how].end, containers[server]])
      await sleep(AFTERWARDS_MS)
      const sent = await stop()

      expect(Math.max(...sent.map(({ tookMs }) => tookMs))).toBeLessThan(DEADLINE_MS)
      const refused = sent.filter(({ status }) => status !== 202)
      for (const { status, error } of refused) {
        expect({ status, error }).toEqual({
          status: 503,
          error: expect.stringMatching(/_(UNAVAILABLE|FAILED)$/),
        })
      }
      if (server === 'kafka') expect(refused.some(({ error }) => error === 'QUEUE_UNAVAILABLE')).toBe(true)
      if (server === 'redis') expect(refused).toEqual([])
      expect(refused.filter(({ metering }) => !metering)).toEqual([])

      // What a careful client does: it repeats the identical request.
      for (const { id, metering } of refused) {
        await eventually(
          `${id} is accepted`,
          async () => (await send(waymark, id, metering)).status === 202,
          30_000,
        )
      }
      const ours = (ids: string[]) => ids.filter((id) => id.startsWith(`${name}-`)).sort()
      const all = sent.map(({ id }) => id).sort()
      const stored = await eventually(
        'everything is stored',
        async () => {
          const found = ours(await readEventIds(waymark))
          return found.length >= all.length && found
        },
        60_000,
      )
      expect(stored).toEqual(all)
      const conversions = sent.filter(({ metering }) => metering).map(({ id }) => id)
      expect(ours(await readConversionIds(waymark))).toEqual(conversions.sort())
      process.stdout.write(
        `${server} ${how} for ${AWAY_MS / 1000} s: ${sent.length} sent, ${refused.length} refused and repeated, ` +
          `${stored.length} stored, 0 missing, 0 twice, slowest answer ${Math.round(Math.max(...sent.map(({ tookMs }) => tookMs)))} ms\n`,
      )
    },
    180_000,
  )

  it('refuses a revoked key within 5 s while Kafka and Redis are frozen', async () => {
    const keys = `/api/projects/${waymark.projectId}/api-keys`
    const headers = { 'Content-Type': 'application/json' }
    const body = JSON.stringify({ name: 'to be revoked', kind: 'sec', scopes: ['events:write'] })
    const created = await waymark.request(keys, { method: 'POST', headers, body })
    const { id, key } = (await created.json()) as { id: string; key: string }
    const identify = async () => {
      const response = await waymark.request('/api/v1/identify', {
        method: 'POST',
        headers: { ...headers, 'X-API-Key': key },
        body: JSON.stringify({ visitorId: 'v', userId: 'u' }),
      })
      return response.status
    }
    await docker('docker', ['pause', containers.kafka])
    await docker('docker', ['pause', containers.redis])
    try {
      expect(await identify()).toBe(202)
      expect((await waymark.request(`${keys}/${id}`, { method: 'DELETE' })).status).toBe(204)
      await eventually('the key is refused', async () => (await identify()) === 401, 5_000)
    } finally {
      await docker('docker', ['unpause', containers.kafka])
      await docker('docker', ['unpause', containers.redis])
    }
  })
})
