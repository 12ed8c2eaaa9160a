import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { topics } from '@waymark/contracts/topics'
import { type Database, openDatabase } from '@waymark/database'
import { DEFAULT_ALPHABET, drawCodes } from '@waymark/domain/coupon'
import { ensureKafkaTopics } from '@waymark/event-bus'
import { insertCoupons } from '@waymark/pipeline'
import { ensureDemoProject } from '@waymark/project-config'
import {
  type AppProcess,
  createMemoryLog,
  createTestDatabase,
  endApp,
  eventually,
  freePort,
  requireServices,
  services,
  startApp,
  startNginx,
} from '@waymark/testing'
import { describe, expect, it, onTestFinished } from 'vitest'

const SENDERS = 4
/** Pause between two requests of a sender, to limit the load of a long drain. */
const SEND_PAUSE_MS = 10
/** How long a replica keeps answering after SIGTERM. On a busy machine the proxy may need seconds to reload. */
const DRAIN_MS = 20_000
/** How much later the proxy notices the stop, as between a kubelet and an Ingress. */
const PROXY_DELAY_MS = 300

type Call = { method?: string; path: string; body?: object; headers?: Record<string, string> }

/** A service from the client's view: its requests and expected responses. */
type Asked = { app: string; status: number; prepare(db: Database, projectId: string): Promise<() => Call> }

const SERVICES: Asked[] = [
  {
    app: 'ingest-gateway',
    status: 202,
    prepare: async () => () => ({
      path: '/api/v1/t',
      body: { eventName: 'page_view', visitorId: 'visitor-1' },
    }),
  },
  {
    app: 'link-redirector',
    status: 302,
    prepare: async ({ prisma }, projectId) => {
      const destination = 'https://shop.example/'
      await prisma.shortLink.create({
        data: { id: randomUUID(), projectId, code: 'shoes', destination, utm: {}, targets: [], tags: [] },
      })
      return () => ({ method: 'GET', path: '/s/shoes' })
    },
  },
  {
    app: 'decision-service',
    status: 200,
    prepare: async () => () => ({ path: '/api/v1/decide', body: { visitorId: 'visitor-1' } }),
  },
  {
    app: 'coupon-service',
    status: 200,
    prepare: async (db, projectId) => {
      const space = { alphabet: DEFAULT_ALPHABET, length: 16, prefix: '' }
      const codes = drawCodes(space, 50_000)
      const [id, size] = [randomUUID(), codes.length]
      const discount = { type: 'percent', value: 10 }
      const pool = { ...space, id, projectId, name: 'Summer', kind: 'unique', status: 'ready', discount }
      await db.prisma.couponPool.create({ data: { ...pool, size, generated: size, count: { create: {} } } })
      const rows = codes.map((code) => ({ code, display: null }))
      await db.transaction((client) => insertCoupons(client, { id, projectId }, rows))
      // Each code is redeemed once, so no response is a repeated one.
      return () => ({
        path: '/api/v1/coupons/redeem',
        body: { code: codes.pop(), userId: 'ann' },
        headers: { 'Idempotency-Key': randomUUID() },
      })
    },
  },
  {
    app: 'management-api',
    status: 200,
    prepare: async (_, projectId) => () => ({
      method: 'GET',
      path: `/api/projects/${projectId}/event-definitions`,
    }),
  },
]

/** The configuration of a proxy in front of the replicas, with keep-alive connections. */
const proxyConfig = (port: number, replicas: readonly { port: number }[]): string => `
  pid /tmp/nginx-${port}.pid;
  events {}
  http {
    access_log off;
    # A Service of Kubernetes tries no second replica either.
    proxy_next_upstream off;
    upstream replicas {
      ${replicas.map((replica) => `server 127.0.0.1:${replica.port};`).join(' ')}
      keepalive 32;
    }
    server {
      listen 127.0.0.1:${port};
      location / { proxy_pass http://replicas; proxy_http_version 1.1; proxy_set_header Connection ""; }
    }
  }`

const prepare = async ({ prepare: prepareCalls }: Asked) => {
  const { kafkaBrokers, redisUrl, clickhouseUrl } = requireServices()
  const database = await createTestDatabase()
  const prefix = `t${randomBytes(5).toString('hex')}.`
  const db = openDatabase({ url: database.url, poolSize: 2, applicationName: 'test', onError: () => {} })
  const { apiKey, projectId } = await ensureDemoProject(db)
  const nextCall = await prepareCalls(db, projectId)
  await db.close()
  const kafka = { brokers: kafkaBrokers, clientId: 'test', topicPrefix: prefix }
  await ensureKafkaTopics(kafka, topics, { partitions: 2, replication: 1 }, createMemoryLog())
  const env = {
    DATABASE_URL: database.url,
    REDIS_URL: redisUrl,
    REDIS_KEY_PREFIX: prefix,
    KAFKA_BROKERS: kafkaBrokers.join(','),
    KAFKA_TOPIC_PREFIX: prefix,
    CLICKHOUSE_URL: clickhouseUrl,
    PUBLIC_URL: 'http://localhost',
  }
  return { database, apiKey, nextCall, env }
}

const startReplicaOf = (app: string, env: Record<string, string>) => async (): Promise<AppProcess> => {
  const replica = await startApp(`apps/${app}/src/main.ts`, 0, env)
  onTestFinished(() => replica.kill())
  return replica
}

const ask = async (
  port: number,
  apiKey: string,
  agent: Agent,
  { method = 'POST', path, body, headers }: Call,
): Promise<number> => {
  const asked = request({
    port,
    agent,
    method,
    path,
    headers: { 'X-API-Key': apiKey, 'Content-Type': 'application/json', ...headers },
  })
  asked.end(body && JSON.stringify(body))
  const [response] = await once(asked, 'response')
  response.resume()
  return response.statusCode
}

describe.skipIf(!services).each(SERVICES)('a rolling update of $app behind a proxy', (asked) => {
  const { app, status } = asked

  // It starts four replicas and a proxy, and takes a third of this on two shared processors.
  it('fails no request', { timeout: 420_000 }, async () => {
    const { database, apiKey, nextCall, env } = await prepare(asked)
    onTestFinished(() => database.drop())
    // A proxy does not say which port it has.
    const proxyPort = await freePort()
    const startReplica = startReplicaOf(app, { ...env, DRAIN_MS: `${DRAIN_MS}` })
    let replicas = await Promise.all([startReplica(), startReplica()])
    const proxy = await startNginx(proxyConfig(proxyPort, replicas))
    onTestFinished(async () => {
      await proxy.container.stop({ timeout: 0 })
    })
    // How a proxy closes the connections of its own clients is not tested here.
    const agent = new Agent({ keepAlive: false })
    const call = () => ask(proxyPort, apiKey, agent, nextCall())
    await eventually('the proxy answers', async () => (await call()) === status)

    const answers: (number | string)[] = []
    let sending = true
    onTestFinished(() => {
      sending = false
    })
    const send = async (): Promise<void> => {
      while (sending) {
        answers.push(await call().catch((error) => `${error.message}`))
        await sleep(SEND_PAUSE_MS)
      }
    }
    const senders = Array.from({ length: SENDERS }, send)

    const exitCodes: Promise<number | null>[] = []
    for (let update = 0; update < 2; update++) {
      const [oldest, ...others] = replicas
      if (!oldest) throw new Error('there is always a replica')
      const fresh = await startReplica()
      await proxy.configure(proxyConfig(proxyPort, [...others, oldest, fresh]))
      const answeredBefore = answers.length
      await eventually('more is answered', () => answers.length > answeredBefore + 50)
      exitCodes.push(endApp(oldest, 'SIGTERM'))
      await sleep(PROXY_DELAY_MS)
      await proxy.configure(proxyConfig(proxyPort, [...others, fresh]))
      replicas = [...others, fresh]
    }
    const ended = await Promise.all(exitCodes)
    sending = false
    await Promise.all(senders)

    expect(answers.filter((answer) => answer !== status)).toEqual([])
    expect(answers.length).toBeGreaterThan(100)
    expect(ended).toEqual([0, 0])
  })
})
