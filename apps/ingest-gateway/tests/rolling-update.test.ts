import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { topics } from '@waymark/contracts'
import { openDatabase } from '@waymark/database'
import { ensureKafkaTopics } from '@waymark/event-bus'
import { ensureDemoProject } from '@waymark/pipeline'
import {
  createMemoryLog,
  createTestDatabase,
  eventually,
  freePort,
  requireServices,
  services,
  startNginx,
} from '@waymark/testing'
import { describe, expect, it, onTestFinished } from 'vitest'

const MAIN = path.resolve(import.meta.dirname, '../src/main.ts')
const SENDERS = 4
const ROUNDS = 2
const DRAIN_MS = 2_000
/** How much later than the replica itself the proxy hears that it stops, as between a kubelet and an Ingress. */
const PROXY_IS_TOLD_AFTER_MS = 300

type Replica = { process: ChildProcess; port: number }

/** What a proxy in front of the replicas is told, which keeps its connections to them. */
const proxyConfig = (port: number, replicas: readonly Replica[]): string => `
  pid /tmp/nginx-${port}.pid;
  events {}
  http {
    access_log off;
    # A Service of Kubernetes tries no second replica either.
    proxy_next_upstream off;
    upstream gateway {
      ${replicas.map((replica) => `server 127.0.0.1:${replica.port};`).join(' ')}
      keepalive 32;
    }
    server {
      listen 127.0.0.1:${port};
      location / { proxy_pass http://gateway; proxy_http_version 1.1; proxy_set_header Connection ""; }
    }
  }`

const prepare = async () => {
  const { kafkaBrokers, redisUrl } = requireServices()
  const database = await createTestDatabase()
  const prefix = `t${randomBytes(5).toString('hex')}.`
  const db = openDatabase({ url: database.url, poolSize: 2, applicationName: 'test', onError: () => {} })
  const { apiKey } = await ensureDemoProject(db)
  await db.close()
  const kafka = { brokers: kafkaBrokers, clientId: 'test', topicPrefix: prefix }
  await ensureKafkaTopics(kafka, topics, { partitions: 2, replication: 1 }, createMemoryLog())
  const env = {
    PATH: process.env.PATH,
    LOG_LEVEL: 'warn',
    DATABASE_URL: database.url,
    REDIS_URL: redisUrl,
    REDIS_KEY_PREFIX: prefix,
    KAFKA_BROKERS: kafkaBrokers.join(','),
    KAFKA_TOPIC_PREFIX: prefix,
    LIMIT_INGEST_PER_MINUTE: '1000000',
    METRICS_PORT: '0',
    DRAIN_MS: `${DRAIN_MS}`,
  }
  return { database, apiKey, env }
}

const startReplica = async (env: NodeJS.ProcessEnv): Promise<Replica> => {
  const port = await freePort()
  const child = spawn(process.execPath, [MAIN], { env: { ...env, PORT: `${port}` }, stdio: 'inherit' })
  await eventually('the replica is ready', async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok)
  return { process: child, port }
}

const end = async ({ process: child }: Replica): Promise<number | null> => {
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const [code] = await ended
  return code
}

const track = async (port: number, apiKey: string, agent: Agent): Promise<number> => {
  const asked = request({
    port,
    agent,
    method: 'POST',
    path: '/api/v1/t',
    headers: { 'X-API-Key': apiKey, 'Content-Type': 'application/json' },
  })
  asked.end(JSON.stringify({ eventName: 'page_view', visitorId: 'visitor-1' }))
  const [response] = await once(asked, 'response')
  response.resume()
  return response.statusCode
}

describe.skipIf(!services)('a rolling update of the gateway behind a proxy', () => {
  it('fails no request', async () => {
    const { database, apiKey, env } = await prepare()
    onTestFinished(() => database.drop())
    let replicas = await Promise.all([startReplica(env), startReplica(env)])
    const proxyPort = await freePort()
    const proxy = await startNginx(proxyConfig(proxyPort, replicas))
    onTestFinished(async () => {
      await proxy.container.stop({ timeout: 0 })
      await Promise.all(replicas.map(end))
    })
    // How a proxy ends the connections of its own clients is not the question here.
    const agent = new Agent({ keepAlive: false })
    await eventually('the proxy answers', async () => (await track(proxyPort, apiKey, agent)) === 202)

    const answers: (number | string)[] = []
    let sending = true
    const send = async (): Promise<void> => {
      while (sending) answers.push(await track(proxyPort, apiKey, agent).catch((error) => `${error.message}`))
    }
    const senders = Array.from({ length: SENDERS }, send)

    const exitCodes: (number | null)[] = []
    for (let update = 0; update < ROUNDS * 2; update++) {
      const [oldest, ...others] = replicas
      if (!oldest) throw new Error('there is always a replica')
      const fresh = await startReplica(env)
      await proxy.configure(proxyConfig(proxyPort, [...others, oldest, fresh]))
      const answeredBefore = answers.length
      await eventually('more is answered', () => answers.length > answeredBefore + 50)
      const ended = end(oldest)
      await sleep(PROXY_IS_TOLD_AFTER_MS)
      await proxy.configure(proxyConfig(proxyPort, [...others, fresh]))
      exitCodes.push(await ended)
      replicas = [...others, fresh]
    }
    sending = false
    await Promise.all(senders)

    expect(answers.filter((answer) => answer !== 202)).toEqual([])
    expect(answers.length).toBeGreaterThan(200)
    expect(exitCodes).toEqual([0, 0, 0, 0])
  })
})
