import { randomBytes } from 'node:crypto'
import { openDatabase } from '@waymark/database'
import { parseApiKey } from '@waymark/domain'
import { ensureDemoProject } from '@waymark/project-config'
import { distributedPlatform, platformConfig, readConfig, startService } from '@waymark/service-kit'
import { createMemoryLog, createTestDatabase, eventually, requireServices, services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDecisionService } from '../src/app.ts'

describe.skipIf(!services)('the rate limit of decisions', () => {
  const stops: (() => Promise<unknown>)[] = []
  const ports: number[] = []
  let apiKey: string
  let setOwnLimit: (requestsPerMinute: number | null) => Promise<unknown>

  beforeAll(async () => {
    const { redisUrl, kafkaBrokers } = requireServices()
    const database = await createTestDatabase()
    stops.unshift(() => database.drop())
    const db = openDatabase({ url: database.url, poolSize: 2, applicationName: 'test', onError: () => {} })
    stops.unshift(() => db.close())
    const demo = await ensureDemoProject(db)
    apiKey = demo.apiKey
    const keyId = parseApiKey(apiKey)?.keyId ?? ''
    setOwnLimit = (requestsPerMinute) =>
      db.prisma.$transaction([
        db.prisma.apiKey.update({ where: { keyId }, data: { requestsPerMinute } }),
        db.prisma.configChange.create({ data: { projectId: demo.projectId } }),
      ])
    await setOwnLimit(null)
    const scope = {
      onStop: (_name: string, stop: () => Promise<unknown>) => void stops.unshift(stop),
      dispose: async () => {},
    }
    const prefix = `t${randomBytes(5).toString('hex')}.`
    const config = readConfig(platformConfig, {
      DATABASE_URL: database.url,
      REDIS_URL: redisUrl,
      REDIS_KEY_PREFIX: prefix,
      KAFKA_BROKERS: kafkaBrokers.join(','),
      KAFKA_TOPIC_PREFIX: prefix,
    })
    for (const name of ['one', 'other']) {
      const platform = await distributedPlatform(config, { name, log: createMemoryLog(), scope })
      const http = { port: 0, metricsPort: 0, trustedProxies: 0 }
      ports.push((await startService(createDecisionService(platform), http, platform, scope)).port)
    }
  })
  afterAll(async () => {
    for (const stop of stops) await stop()
  })

  const post = (path: string, n: number) =>
    fetch(`http://localhost:${ports[n % ports.length]}${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-API-Key': apiKey },
      body: JSON.stringify({ visitorId: 'v', context: { targetingKey: 'v' } }),
    })

  it.each(['/api/v1/decide', '/ofrep/v1/evaluate/flags'])(
    'is 30 per minute over all processes by default: %s',
    async (path) => {
      for (let n = 0; n < 30; n++) expect((await post(path, n)).status).toBe(200)
      for (let n = 30; n < 32; n++) {
        const refused = await post(path, n)
        expect(refused.status).toBe(429)
        const error = /^Too many requests: at most 30 .* set by LIMIT_DECIDE_PER_MINUTE$/
        const ofOfrep = { errorCode: 'GENERAL', errorDetails: expect.stringMatching(error) }
        expect(await refused.json()).toEqual({
          error: expect.stringMatching(error),
          retryAfter: expect.any(Number),
          ...(path.startsWith('/ofrep/') && ofOfrep),
        })
        expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(0)
      }
    },
  )

  it('follows the limit of a server key in every process within 5 s', async () => {
    const path = '/ofrep/v1/evaluate/flags/any'
    await setOwnLimit(40)
    const limitAt = async (n: number) => (await post(path, n)).headers.get('RateLimit-Limit')
    await eventually(
      'both processes know of the limit',
      async () => (await limitAt(0)) === '40' && (await limitAt(1)) === '40',
      5_000,
    )
    const statuses: number[] = []
    for (let n = 0; n < 42; n++) statuses.push((await post(path, n)).status)
    const answered = statuses.filter((status) => status === 404).length
    expect(answered).toBeGreaterThan(0)
    // Two were counted when both processes knew.
    expect(answered).toBeLessThanOrEqual(40 - 2)
    expect(statuses.slice(-2)).toEqual([429, 429])
    const refused = await post(path, 0)
    expect(await refused.json()).toMatchObject({
      error: expect.stringMatching(/at most 40 .* set by requestsPerMinute of the API key$/),
    })
  })
})
