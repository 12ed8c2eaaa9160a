import { randomBytes } from 'node:crypto'
import { openDatabase } from '@waymark/database'
import { ensureDemoProject } from '@waymark/pipeline'
import { distributedPlatform, platformConfig, readConfig, startService } from '@waymark/service-kit'
import { createMemoryLog, createTestDatabase, requireServices, services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDecisionService } from '../src/app.ts'

describe.skipIf(!services)('how often a client may ask for decisions', () => {
  const stops: (() => Promise<unknown>)[] = []
  const ports: number[] = []
  let apiKey: string

  beforeAll(async () => {
    const { redisUrl, kafkaBrokers } = requireServices()
    const database = await createTestDatabase()
    stops.unshift(() => database.drop())
    const db = openDatabase({ url: database.url, poolSize: 2, applicationName: 'test', onError: () => {} })
    ;({ apiKey } = await ensureDemoProject(db))
    await db.close()
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
    'is 30 times a minute over all processes, unless the deployment says otherwise: %s',
    async (path) => {
      for (let n = 0; n < 30; n++) expect((await post(path, n)).status).toBe(200)
      for (let n = 30; n < 32; n++) {
        const refused = await post(path, n)
        expect(refused.status).toBe(429)
        expect(await refused.json()).toEqual({ error: 'Too many requests', retryAfter: expect.any(Number) })
        expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(0)
      }
    },
  )
})
