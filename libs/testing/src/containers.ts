import { getRandomValues } from 'node:crypto'
import { GenericContainer, Network, type StartedTestContainer, Wait } from 'testcontainers'
import { freePort } from './free-port.ts'
import { count } from './run-counts.ts'
import { RUN_LABEL, runLabel } from './test-run.ts'

/** Official images, or those that `tools/images` builds under the same names. */
export const images = {
  postgres: 'postgres:15-bookworm',
  redis: 'redis:7-bookworm',
  kafka: 'apache/kafka:4.1.0',
  nginx: 'nginx:1.28-bookworm',
  clickhouse: 'clickhouse/clickhouse-server:26.3',
} as const

/** A container of an image. The summary of a test run counts it, and the next run removes it if this one is killed. */
export const newContainer = (image: string): GenericContainer => {
  count('containers')
  return new GenericContainer(image).withLabels({ [RUN_LABEL]: runLabel() })
}

/** Time for a server in a container to start, in ms. A busy machine may take minutes. */
export const CONTAINER_START_MS = 300_000

/** Flags of the JVM of a broker. One that lives for minutes spends half of its processor time on optimizing its code. */
export const KAFKA_JVM = '-Xms256m -Xmx512m -XX:TieredStopAtLevel=1'

const randomPassword = (): string => Buffer.from(getRandomValues(new Uint8Array(12))).toString('hex')
const POSTGRES_PASSWORD = randomPassword()
const CLICKHOUSE_PASSWORD = randomPassword()

type Place = {
  /** The port on this machine. Default: a free one, which changes when the container restarts. */
  port?: number
  /** The volume of its data. */
  volume?: string
}
const mounts = (target: string, { volume }: Place) =>
  volume === undefined ? [] : [{ source: volume, target, mode: 'rw' as const }]
const exposed = (container: number, { port }: Place) =>
  port === undefined ? container : { container, host: port }

/**
 * A PostgreSQL server without fsync. `settings` are further ones. `url` contains the credentials of its superuser.
 * `ports` of the container are reachable as well.
 */
export const startPostgres = async ({
  settings = [],
  ports = [],
  ...place
}: Place & { settings?: readonly string[]; ports?: readonly number[] } = {}): Promise<{
  container: StartedTestContainer
  url: string
}> => {
  const container = await newContainer(images.postgres)
    .withEnvironment({ POSTGRES_PASSWORD })
    .withCommand([
      'postgres',
      ...['fsync=off', 'max_connections=300', ...settings].flatMap((setting) => ['-c', setting]),
    ])
    .withExposedPorts(exposed(5432, place), ...ports)
    .withBindMounts(mounts('/var/lib/postgresql/data', place))
    .withWaitStrategy(Wait.forLogMessage(/database system is ready to accept connections/, 2))
    .withStartupTimeout(CONTAINER_START_MS)
    .start()
  const url = `postgres://postgres:${POSTGRES_PASSWORD}@${container.getHost()}:${container.getMappedPort(5432)}/postgres`
  return { container, url }
}

/** A Redis server. */
export const startRedis = async (
  place: Place = {},
): Promise<{ container: StartedTestContainer; url: string }> => {
  const container = await newContainer(images.redis)
    .withExposedPorts(exposed(6379, place))
    .withWaitStrategy(Wait.forLogMessage(/Ready to accept connections/))
    .withStartupTimeout(CONTAINER_START_MS)
    .start()
  return { container, url: `redis://${container.getHost()}:${container.getMappedPort(6379)}` }
}

/**
 * One Kafka broker that is its own controller. Its port stays the same when it restarts. `advertisedPort` may be that of a
 * proxy. `direct` uses the network of the host, without the proxy of Docker; Linux only. `settings` are variables of the
 * image that replace or add to the others.
 */
export const startKafka = async ({
  advertisedPort,
  direct = false,
  settings = {},
  ...place
}: Place & {
  advertisedPort?: number
  direct?: boolean
  settings?: Record<string, string>
} = {}): Promise<{
  container: StartedTestContainer
  brokers: string[]
}> => {
  // A broker advertises its address, so the port must be known before the start.
  const port = place.port ?? (await freePort())
  const advertised = advertisedPort ?? port
  const [clients, controllers] = direct ? [port, await freePort()] : [9092, 9093]
  const kafka = newContainer(images.kafka)
    .withEnvironment({
      KAFKA_NODE_ID: '1',
      KAFKA_PROCESS_ROLES: 'broker,controller',
      KAFKA_LISTENERS: `PLAINTEXT://:${clients},CONTROLLER://:${controllers}`,
      KAFKA_ADVERTISED_LISTENERS: `PLAINTEXT://localhost:${advertised}`,
      KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT',
      ...(place.volume !== undefined && { KAFKA_LOG_DIRS: '/var/lib/kafka/data' }),
      KAFKA_CONTROLLER_LISTENER_NAMES: 'CONTROLLER',
      KAFKA_CONTROLLER_QUORUM_VOTERS: `1@localhost:${controllers}`,
      KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: '1',
      KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR: '1',
      KAFKA_TRANSACTION_STATE_LOG_MIN_ISR: '1',
      KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS: '0',
      KAFKA_AUTO_CREATE_TOPICS_ENABLE: 'false',
      KAFKA_HEAP_OPTS: KAFKA_JVM,
      ...settings,
    })
    .withBindMounts(mounts('/var/lib/kafka/data', place))
    .withWaitStrategy(Wait.forLogMessage(/Kafka Server started/))
    .withStartupTimeout(CONTAINER_START_MS)
  const placed = direct
    ? kafka.withNetworkMode('host')
    : kafka.withExposedPorts({ container: clients, host: port })
  return { container: await placed.start(), brokers: [`localhost:${advertised}`] }
}

/** A ClickHouse server. `url` is its HTTP interface with credentials. */
export const startClickHouse = async (
  place: Place = {},
): Promise<{ container: StartedTestContainer; url: string }> => {
  const container = await newContainer(images.clickhouse)
    .withEnvironment({ CLICKHOUSE_USER: 'waymark', CLICKHOUSE_PASSWORD })
    .withExposedPorts(exposed(8123, place))
    .withBindMounts(mounts('/var/lib/clickhouse', place))
    .withWaitStrategy(Wait.forHttp('/ping', 8123))
    .withStartupTimeout(CONTAINER_START_MS)
    .start()
  const url = `http://waymark:${CLICKHOUSE_PASSWORD}@${container.getHost()}:${container.getMappedPort(8123)}`
  return { container, url }
}

/** An nginx proxy in the network of the host. `configure` reloads it with another configuration. */
export const startNginx = async (
  config: string,
): Promise<{ container: StartedTestContainer; configure(config: string): Promise<void> }> => {
  const file = (content: string) => [{ content, target: '/etc/nginx/nginx.conf' }]
  const container = await newContainer(images.nginx)
    .withNetworkMode('host')
    .withCopyContentToContainer(file(config))
    .withStartupTimeout(CONTAINER_START_MS)
    .start()
  return {
    container,
    configure: async (changed) => {
      await container.copyContentToContainer(file(changed))
      const { exitCode, output } = await container.exec(['nginx', '-s', 'reload'])
      if (exitCode !== 0) throw new Error(`nginx does not take its configuration: ${output}`)
    },
  }
}

/**
 * Waits until all servers have started. If one fails, stops the others.
 * @throws the error of the first failure
 */
export const startTogether = async <T extends { container: StartedTestContainer }[]>(
  ...starts: { [I in keyof T]: Promise<T[I]> }
): Promise<T> => {
  try {
    return (await Promise.all(starts)) as T
  } catch (error) {
    for (const start of await Promise.allSettled(starts))
      if (start.status === 'fulfilled') await start.value.container.stop({ timeout: 0 })
    throw error
  }
}

/** A cluster of three Kafka brokers. Their ports stay the same when they restart. */
export const startKafkaCluster = async (): Promise<{
  containers: StartedTestContainer[]
  brokers: string[]
  stop(): Promise<void>
}> => {
  const network = await new Network().start()
  const ids = [1, 2, 3]
  const nameOf = (id: number) => `kafka-${id}-${network.getId().slice(0, 8)}`
  const started = await startTogether(
    ...ids.map(async (id) => {
      // A broker advertises its address, so the port must be known before the start.
      const port = await freePort()
      const container = await newContainer(images.kafka)
        .withNetwork(network)
        .withNetworkAliases(nameOf(id))
        .withEnvironment({
          KAFKA_NODE_ID: `${id}`,
          KAFKA_PROCESS_ROLES: 'broker,controller',
          KAFKA_LISTENERS: 'PLAINTEXT://:9092,INTERNAL://:19092,CONTROLLER://:9093',
          KAFKA_ADVERTISED_LISTENERS: `PLAINTEXT://localhost:${port},INTERNAL://${nameOf(id)}:19092`,
          KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT',
          KAFKA_INTER_BROKER_LISTENER_NAME: 'INTERNAL',
          KAFKA_CONTROLLER_LISTENER_NAMES: 'CONTROLLER',
          KAFKA_CONTROLLER_QUORUM_VOTERS: ids.map((other) => `${other}@${nameOf(other)}:9093`).join(','),
          KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: '3',
          KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS: '0',
          KAFKA_AUTO_CREATE_TOPICS_ENABLE: 'false',
          KAFKA_HEAP_OPTS: KAFKA_JVM,
        })
        .withExposedPorts({ container: 9092, host: port })
        .withWaitStrategy(Wait.forLogMessage(/Kafka Server started/))
        .withStartupTimeout(CONTAINER_START_MS)
        .start()
      return { container, broker: `localhost:${port}` }
    }),
  ).catch(async (error) => {
    await network.stop()
    throw error
  })
  return {
    containers: started.map(({ container }) => container),
    brokers: started.map(({ broker }) => broker),
    stop: async () => {
      await Promise.all(started.map(({ container }) => container.stop({ timeout: 0 })))
      await network.stop()
    },
  }
}
