import { createRedisCache } from '@waymark/cache'
import {
  CONTAINER_START_MS,
  createMemoryLog,
  eventually,
  freePort,
  images,
  makeCertificate,
  newContainer,
  services,
} from '@waymark/testing'
import { type StartedTestContainer, Wait } from 'testcontainers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from '../src/config.ts'
import { redisConfig } from '../src/stores-config.ts'
import { redisOptions } from '../src/stores-options.ts'

const PASSWORD = 'a/secret#?'

/** What a cache that is configured by `env` gives back of what it is given. */
const roundTrip = async (env: Record<string, string>, timeoutMs = 60_000): Promise<string | undefined> => {
  const options = redisOptions(readConfig(redisConfig, env))
  const cache = createRedisCache({ ...options, commandTimeoutMs: 2_000 }, createMemoryLog())
  try {
    return await eventually(
      'the cache gives back',
      async () => {
        await cache.set('key', 'value', 60_000)
        return await cache.get('key')
      },
      timeoutMs,
    )
  } finally {
    await cache.close()
  }
}

/** Runs a script of the shell in the image of Redis, with files in `/tls`, and its ports as they are. */
const startServers = (script: string, ports: number[], files: Record<string, string>) =>
  newContainer(images.redis)
    .withCopyContentToContainer(
      Object.entries(files).map(([name, content]) => ({ content, target: `/tls/${name}`, mode: 0o644 })),
    )
    .withEntrypoint(['bash', '-ec', script])
    .withExposedPorts(...ports.map((port) => ({ container: port, host: port })))
    .withWaitStrategy(Wait.forLogMessage(/all are up/))
    .withStartupTimeout(CONTAINER_START_MS)
    .start()

// Sentinels and the nodes of a cluster name addresses to clients, so all ports are those of this machine.
const up = (port: number, flags = '') =>
  `until redis-cli -p ${port} ${flags} ping | grep -q PONG; do sleep 0.1; done`

describe.skipIf(!services)('Redis that is configured by the environment', () => {
  const started: StartedTestContainer[] = []
  afterAll(() => Promise.all(started.map((container) => container.stop({ timeout: 0 }))))

  describe('with TLS and a password', () => {
    let port: number
    let certificate: Awaited<ReturnType<typeof makeCertificate>>
    beforeAll(async () => {
      certificate = await makeCertificate()
      port = await freePort()
      const tls = '--tls --cert /tls/tls.crt --key /tls/tls.key --cacert /tls/tls.crt'
      const server = `redis-server --port 0 --tls-port ${port} --tls-cert-file /tls/tls.crt \
        --tls-key-file /tls/tls.key --tls-ca-cert-file /tls/tls.crt --requirepass '${PASSWORD}' --protected-mode no`
      const script = `${server} & export REDISCLI_AUTH='${PASSWORD}'; ${up(port, tls)}; echo all are up; wait`
      const files = { 'tls.crt': certificate.cert, 'tls.key': certificate.key }
      started.push(await startServers(script, [port], files))
    })
    afterAll(() => certificate?.remove())

    it('is connected with certificates and credentials', async () => {
      const env = {
        REDIS_URL: `rediss://localhost:${port}`,
        REDIS_PASSWORD: PASSWORD,
        REDIS_TLS_CA_FILE: certificate.certFile,
        REDIS_TLS_CERT_FILE: certificate.certFile,
        REDIS_TLS_KEY_FILE: certificate.keyFile,
      }
      expect(await roundTrip(env)).toBe('value')
    })

    it('is refused without its certificate', async () => {
      const env = { REDIS_URL: `rediss://:${encodeURIComponent(PASSWORD)}@localhost:${port}` }
      await expect(roundTrip(env, 5_000)).rejects.toThrow()
    })
  })

  it('is found through sentinels', async () => {
    const [port, sentinelPort] = [await freePort(), await freePort()]
    const script = `
      redis-server --port ${port} --protected-mode no --requirepass secret &
      mkdir /tmp/sentinel
      printf '%s\\n' 'sentinel monitor main 127.0.0.1 ${port} 1' 'sentinel auth-pass main secret' 'protected-mode no' >/tmp/sentinel/conf
      export REDISCLI_AUTH=secret; ${up(port)}; unset REDISCLI_AUTH
      redis-server /tmp/sentinel/conf --port ${sentinelPort} --sentinel & ${up(sentinelPort)}
      echo all are up; wait`
    started.push(await startServers(script, [port, sentinelPort], {}))
    const env = {
      REDIS_URL: 'redis://:secret@unused',
      REDIS_SENTINELS: `localhost:${sentinelPort}`,
      REDIS_SENTINEL_MASTER: 'main',
    }
    expect(await roundTrip(env)).toBe('value')
  })

  it('is a cluster', async () => {
    const [one, two] = [await freePort(), await freePort()]
    const node = (port: number) => `redis-server --port ${port} --protected-mode no --cluster-enabled yes \
      --cluster-port ${port === one ? 17001 : 17002} --cluster-config-file /tmp/${port}.conf &
      ${up(port)}`
    const script = `
      ${node(one)}
      ${node(two)}
      redis-cli -p ${one} cluster addslotsrange 0 8191
      redis-cli -p ${two} cluster addslotsrange 8192 16383
      redis-cli -p ${one} cluster meet 127.0.0.1 ${two} 17002
      until redis-cli -p ${one} cluster info | grep -q cluster_state:ok &&
        redis-cli -p ${two} cluster info | grep -q cluster_state:ok; do sleep 0.1; done
      echo all are up; wait`
    started.push(await startServers(script, [one, two], {}))
    const cluster = { REDIS_URL: `redis://127.0.0.1:${one}`, REDIS_CLUSTER: 'true' }
    expect(await roundTrip(cluster)).toBe('value')
    // In another slot, so that both nodes are asked.
    expect(await roundTrip({ ...cluster, REDIS_KEY_PREFIX: 'other:' })).toBe('value')
    expect(await roundTrip({ ...cluster, REDIS_KEY_PREFIX: 'third:' })).toBe('value')
  })
})
