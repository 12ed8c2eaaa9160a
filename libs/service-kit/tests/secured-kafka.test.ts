import { ingestRecords } from '@waymark/contracts/topics'
import { classifyStoreError } from '@waymark/database'
import { createKafkaEventBus, ensureKafkaTopics } from '@waymark/event-bus'
import {
  anIngestRecord,
  CONTAINER_START_MS,
  createMemoryLog,
  eventually,
  freePort,
  images,
  KAFKA_JVM,
  makeCertificate,
  newContainer,
  services,
  startTcpProxy,
} from '@waymark/testing'
import { type StartedTestContainer, Wait } from 'testcontainers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from '../src/config.ts'
import { kafkaConfig } from '../src/stores-config.ts'
import { kafkaOptions } from '../src/stores-options.ts'

const LOGIN_MODULES = 'org.apache.kafka.common.security'

describe.skipIf(!services)('Kafka that requires TLS, a client certificate and credentials', () => {
  let container: StartedTestContainer
  let certificate: Awaited<ReturnType<typeof makeCertificate>>
  let env: Record<string, string>

  beforeAll(async () => {
    certificate = await makeCertificate()
    // A broker advertises its address, so the port must be known before the start.
    const port = await freePort()
    container = await newContainer(images.kafka)
      .withEnvironment({
        KAFKA_NODE_ID: '1',
        KAFKA_PROCESS_ROLES: 'broker,controller',
        KAFKA_LISTENERS: 'CLIENT://:9092,INTERNAL://:19092,CONTROLLER://:9093',
        KAFKA_ADVERTISED_LISTENERS: `CLIENT://localhost:${port},INTERNAL://localhost:19092`,
        KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: 'CLIENT:SASL_SSL,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT',
        KAFKA_INTER_BROKER_LISTENER_NAME: 'INTERNAL',
        KAFKA_CONTROLLER_LISTENER_NAMES: 'CONTROLLER',
        KAFKA_CONTROLLER_QUORUM_VOTERS: '1@localhost:9093',
        KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: '1',
        KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS: '0',
        KAFKA_SASL_ENABLED_MECHANISMS: 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512',
        KAFKA_LISTENER_NAME_CLIENT_PLAIN_SASL_JAAS_CONFIG: `${LOGIN_MODULES}.plain.PlainLoginModule required user_ada="secret" user_bob="secret";`,
        KAFKA_LISTENER_NAME_CLIENT_SCRAM___SHA___256_SASL_JAAS_CONFIG: `${LOGIN_MODULES}.scram.ScramLoginModule required;`,
        KAFKA_LISTENER_NAME_CLIENT_SCRAM___SHA___512_SASL_JAAS_CONFIG: `${LOGIN_MODULES}.scram.ScramLoginModule required;`,
        // By default a listener with SASL does not look at certificates.
        KAFKA_LISTENER_NAME_CLIENT_SSL_CLIENT_AUTH: 'required',
        KAFKA_SSL_KEYSTORE_TYPE: 'PEM',
        KAFKA_SSL_KEYSTORE_LOCATION: '/etc/kafka/secrets/server.pem',
        KAFKA_SSL_TRUSTSTORE_TYPE: 'PEM',
        KAFKA_SSL_TRUSTSTORE_LOCATION: '/etc/kafka/secrets/ca.pem',
        KAFKA_AUTHORIZER_CLASS_NAME: 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
        // ANONYMOUS are the broker and the commands of this test.
        KAFKA_SUPER_USERS: 'User:ANONYMOUS;User:ada',
        KAFKA_HEAP_OPTS: KAFKA_JVM,
      })
      .withCopyContentToContainer([
        { content: certificate.key + certificate.cert, target: '/etc/kafka/secrets/server.pem', mode: 0o644 },
        { content: certificate.cert, target: '/etc/kafka/secrets/ca.pem', mode: 0o644 },
      ])
      .withExposedPorts({ container: 9092, host: port })
      .withWaitStrategy(Wait.forLogMessage(/Kafka Server started/))
      .withStartupTimeout(CONTAINER_START_MS)
      .start()
    for (const mechanism of ['SCRAM-SHA-256', 'SCRAM-SHA-512']) {
      const { exitCode, output } = await container.exec([
        '/opt/kafka/bin/kafka-configs.sh',
        '--bootstrap-server',
        'localhost:19092',
        '--alter',
        '--entity-type',
        'users',
        '--entity-name',
        'ada',
        '--add-config',
        `${mechanism}=[password=secret]`,
      ])
      if (exitCode !== 0) throw new Error(output)
    }
    env = {
      KAFKA_BROKERS: `localhost:${port}`,
      KAFKA_TLS: 'true',
      KAFKA_TLS_CA_FILE: certificate.certFile,
      KAFKA_TLS_CERT_FILE: certificate.certFile,
      KAFKA_TLS_KEY_FILE: certificate.keyFile,
      KAFKA_SASL_USERNAME: 'ada',
      KAFKA_SASL_PASSWORD: 'secret',
    }
  })
  afterAll(async () => {
    await container?.stop({ timeout: 0 })
    await certificate?.remove()
  })

  const optionsFor = (more: Record<string, string>) => ({
    ...kafkaOptions(readConfig(kafkaConfig, { ...env, ...more })),
    clientId: 'test',
    // So long that a busy broker does not reach it.
    publishDeadlineMs: 60_000,
  })

  it.for(['plain', 'scram-sha-256', 'scram-sha-512'])('delivers records with %s', async (mechanism) => {
    const options = optionsFor({ KAFKA_SASL_MECHANISM: mechanism, KAFKA_TOPIC_PREFIX: `${mechanism}.` })
    const log = createMemoryLog()
    await ensureKafkaTopics(options, [ingestRecords], { partitions: 1, replication: 1 }, log)
    const bus = createKafkaEventBus(options, { log, classifyError: classifyStoreError })
    const received: unknown[] = []
    const consumer = bus.subscribe({
      group: 'test',
      topic: ingestRecords,
      handle: async (batch) => {
        received.push(...batch.map(({ value }) => value))
        return undefined
      },
    })
    await consumer.start()
    const record = anIngestRecord()
    await bus.publish(ingestRecords, [{ key: 'key', value: record }])
    await eventually('the record arrives', () => received.length > 0)
    // A record may be written or delivered twice.
    for (const one of received) expect(one).toEqual(record)
    await consumer.stop()
    await bus.close()
  })

  it('keeps the settings of topics when the user may not change them, and logs that', async () => {
    const log = createMemoryLog()
    const own = { KAFKA_SASL_MECHANISM: 'plain', KAFKA_TOPIC_PREFIX: 'kept.' }
    await ensureKafkaTopics(optionsFor(own), [ingestRecords], { partitions: 1, replication: 1 }, log)
    const { exitCode, output } = await container.exec([
      '/opt/kafka/bin/kafka-acls.sh',
      '--bootstrap-server',
      'localhost:19092',
      '--add',
      '--allow-principal',
      'User:bob',
      '--operation',
      'Create',
      '--operation',
      'Describe',
      '--operation',
      'DescribeConfigs',
      '--topic',
      '*',
    ])
    if (exitCode !== 0) throw new Error(output)
    const other = { ...ingestRecords, retentionMs: 60_000 }
    const options = optionsFor({ ...own, KAFKA_SASL_USERNAME: 'bob' })
    await ensureKafkaTopics(options, [other], { partitions: 1, replication: 1 }, log)
    expect(log.lines.filter(({ level }) => level === 'warn')).toEqual([
      expect.objectContaining({ message: 'Settings of Kafka topics could not be checked or changed' }),
    ])
  })

  it('is waited for when its handshake takes seconds', async () => {
    const proxy = await startTcpProxy(`tcp://${env.KAFKA_BROKERS}`)
    proxy.slowDown({ bytesPerSecond: 1_000_000, latencyMs: 700 })
    const options = { ...optionsFor({ KAFKA_SASL_MECHANISM: 'plain' }), topicPrefix: 'slow.' }
    const slowly = { ...options, brokers: [`localhost:${proxy.port}`] }
    await ensureKafkaTopics(slowly, [ingestRecords], { partitions: 1, replication: 1 }, createMemoryLog())
    await proxy.stop()
  })

  it('refuses other clients', async () => {
    let said = ''
    const output = await container.logs()
    output.on('data', (data) => {
      said += data
    })
    const wrong = createKafkaEventBus(
      {
        ...optionsFor({ KAFKA_SASL_MECHANISM: 'scram-sha-512', KAFKA_SASL_PASSWORD: 'wrong' }),
        // It tries again until then.
        publishDeadlineMs: 3_000,
      },
      { log: createMemoryLog(), classifyError: classifyStoreError },
    )
    await eventually('Kafka says that the password is wrong', async () => {
      await expect(wrong.publish(ingestRecords, [{ key: 'key', value: anIngestRecord() }])).rejects.toThrow()
      return /Failed authentication .*invalid credentials with SASL mechanism SCRAM-SHA-512/.test(said)
    })
    output.destroy()
    await wrong.close()
  })
})
