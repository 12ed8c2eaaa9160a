import { setTimeout as sleep } from 'node:timers/promises'
import {
  docker,
  eventually,
  extent,
  freePort,
  requireServices,
  services,
  startKafka,
  startPostgres,
  startRedis,
  startTogether,
} from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectStoredOnce, report } from './audit.ts'
import { AWAY_MS, DEADLINE_MS, RECOVERY_MS, REVOKED_MS } from './durations.ts'
import { createFleet, type Fleet } from './fleet.ts'
import { slowestMs, startLoad } from './load.ts'
import { broken, countAnswers, type Services, startProbes, startServices } from './probes.ts'

type Server = 'kafka' | 'postgres' | 'redis'

describe.skipIf(!services)('a server that fails under load', () => {
  let containers: Record<Server, string>
  let fleet: Fleet
  let all: Services
  const stopAll: (() => Promise<unknown>)[] = []

  beforeAll(async () => {
    // The port stays the same when a container restarts.
    const [kafka, postgres, redis] = await startTogether(
      startKafka(),
      startPostgres({ port: await freePort() }),
      startRedis({ port: await freePort() }),
    )
    for (const { container } of [kafka, postgres, redis]) stopAll.push(() => container.stop({ timeout: 0 }))
    containers = {
      kafka: kafka.container.getId(),
      postgres: postgres.container.getId(),
      redis: redis.container.getId(),
    }
    fleet = await createFleet({
      ...requireServices(),
      kafkaBrokers: kafka.brokers,
      postgresUrl: postgres.url,
      redisUrl: redis.url,
    })
    stopAll.unshift(() => fleet.stop())
    const { gateway } = await fleet.startPipeline({ LIMIT_PROFILE_PER_MINUTE: '1000000' })
    all = await startServices(fleet, gateway)
  }, 240_000)
  afterAll(async () => {
    for (const stop of stopAll) await stop()
  })

  const ways = {
    killed: [['kill'], ['start']],
    // Connections stay open without responses.
    frozen: [['pause'], ['unpause']],
    'shut down': [['stop'], ['start']],
    'flushed and shut down': [['stop'], ['start']],
  } as const
  type Way = keyof typeof ways
  const faults: readonly (readonly [string, Way, readonly Server[]])[] = [
    ['Kafka', 'frozen', ['kafka']],
    ['PostgreSQL', 'killed', ['postgres']],
    ['PostgreSQL', 'frozen', ['postgres']],
    ['Redis', 'frozen', ['redis']],
    ['Redis', 'flushed and shut down', ['redis']],
    ['Kafka and PostgreSQL', 'killed', ['kafka', 'postgres']],
    ...extent([], [
      ['Kafka', 'killed', ['kafka']],
      ['Kafka', 'shut down', ['kafka']],
      ['PostgreSQL', 'shut down', ['postgres']],
      ['Redis', 'killed', ['redis']],
      ['Kafka and PostgreSQL', 'frozen', ['kafka', 'postgres']],
      ['all three', 'frozen', ['kafka', 'postgres', 'redis']],
      ['all three', 'killed', ['kafka', 'postgres', 'redis']],
    ] as const),
  ]

  it.each(faults)(
    '%s is %s: 202 or 503 within the deadline, and nothing is lost',
    async (name, way, servers) => {
      const { stop } = startLoad({
        name: `away-${servers.join('-')}`,
        send: all.gateway.request,
        retryMs: 500,
      })
      const probes = await startProbes(fleet, all)
      await sleep(1_000)
      if (way === 'flushed and shut down') await docker('exec', containers.redis, 'redis-cli', 'FLUSHALL')
      const [begin, end] = ways[way]
      for (const server of servers) await docker(...begin, containers[server])
      await sleep(AWAY_MS)
      // In another order than they were stopped.
      for (const server of servers.toReversed()) await docker(...end, containers[server])
      await eventually('every kind of request succeeds again', probes.areWell, RECOVERY_MS)
      const answers = await probes.stop()
      const load = await stop()
      report(`${name} ${way} for ${AWAY_MS / 1000} s, other requests`, countAnswers(answers))
      await expectStoredOnce(fleet, load, `${name} ${way} for ${AWAY_MS / 1000} s`)
      expect(broken(answers)).toEqual([])
      const others = load.attempts.filter(({ status }) => status !== 202 && status !== 503)
      expect(others).toEqual([])
      expect(slowestMs(load)).toBeLessThan(DEADLINE_MS)
      // While only one of them is unavailable, events other than conversions take the other path.
      const refused = load.attempts.filter(({ status }) => status === 503)
      if (servers.length === 1) expect(refused.filter(({ metering }) => !metering)).toEqual([])
      if (servers[0] === 'redis') expect(refused).toEqual([])
      // The first reads of keys wait for the database, and no others.
      if (name === 'PostgreSQL') {
        const slow = load.attempts.filter(({ tookMs }) => tookMs > 1_000)
        expect(slow.length).toBeLessThanOrEqual(20 + load.attempts.length / 50)
        // A decision of a new visitor looks for a profile, and waits for it once in each cooldown.
        const decisions = answers.filter(({ probe }) => probe === 'POST /api/v1/decide')
        const late = decisions.filter(({ tookMs }) => tookMs > 1_000)
        report(`${name} ${way}, decisions`, { answers: decisions.length, 'over 1 s': late.length })
        expect(late.length).toBeLessThanOrEqual(5 + decisions.length / 50)
      }
    },
    300_000,
  )

  it('refuses a revoked key within 5 s while Kafka and Redis are frozen', async () => {
    const keys = `/api/projects/${fleet.projectId}/api-keys`
    const headers = { 'Content-Type': 'application/json' }
    const body = JSON.stringify({ name: 'to be revoked', kind: 'sec', scopes: ['events:write'] })
    const created = await all.management.request(keys, { method: 'POST', headers, body })
    const { id, key } = (await created.json()) as { id: string; key: string }
    const identify = async () => {
      const response = await all.gateway.request('/api/v1/identify', {
        method: 'POST',
        headers: { ...headers, 'X-API-Key': key },
        body: JSON.stringify({ visitorId: 'v', userId: 'u' }),
      })
      return response.status
    }
    await docker('pause', containers.kafka)
    await docker('pause', containers.redis)
    try {
      expect(await identify()).toBe(202)
      expect((await all.management.request(`${keys}/${id}`, { method: 'DELETE' })).status).toBe(204)
      await eventually('the key is refused', async () => (await identify()) === 401, REVOKED_MS)
    } finally {
      await docker('unpause', containers.kafka)
      await docker('unpause', containers.redis)
    }
  })
})
