import { readFileSync } from 'node:fs'
import path from 'node:path'
import { consumerGroups, enrichedEvents } from '@waymark/contracts/topics'
import {
  type Constellation,
  freePort,
  requireServices,
  services,
  startDistributed,
  startKafka,
} from '@waymark/testing'
import kafkajs from 'kafkajs'
import type { StartedTestContainer } from 'testcontainers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { describeDecisions } from './decisions.suite.ts'
import { describeEmail } from './email.suite.ts'
import { describeIngestion } from './ingestion.suite.ts'
import { describeMainJob } from './main-job.suite.ts'
import { describeShortLinks } from './short-links.suite.ts'
import { describeWebhooks } from './webhooks.suite.ts'

const USERS = path.resolve(import.meta.dirname, '../../../deploy/k8s/components/strimzi/users.yaml')
const PASSWORD = 'secret'
const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs

type Acl = { resource: { type: 'topic' | 'group'; name: string }; operations: string[] }
type User = { metadata: { name: string }; spec: { authorization?: { acls: Acl[] } } }

const users = parseAllDocuments(readFileSync(USERS, 'utf8')).map((document) => document.toJS() as User)

const OPERATIONS: Record<string, number> = {
  AlterConfigs: AclOperationTypes.ALTER_CONFIGS,
  Create: AclOperationTypes.CREATE,
  Describe: AclOperationTypes.DESCRIBE,
  DescribeConfigs: AclOperationTypes.DESCRIBE_CONFIGS,
  Read: AclOperationTypes.READ,
  Write: AclOperationTypes.WRITE,
}

/** The privileges of the users, as the operator of Strimzi creates them. */
const privileges = () =>
  users.flatMap(({ metadata, spec }) =>
    (spec.authorization?.acls ?? []).flatMap(({ resource, operations }) =>
      operations.map((operation) => ({
        principal: `User:${metadata.name}`,
        host: '*',
        resourceType: resource.type === 'topic' ? AclResourceTypes.TOPIC : AclResourceTypes.GROUP,
        resourceName: resource.name,
        resourcePatternType: ResourcePatternTypes.LITERAL,
        operation: OPERATIONS[operation] ?? AclOperationTypes.UNKNOWN,
        permissionType: AclPermissionTypes.ALLOW,
      })),
    ),
  )

const login = ['admin', ...users.map(({ metadata }) => metadata.name)]
  .map((name) => `user_${name}="${PASSWORD}"`)
  .join(' ')

/** A broker that lets users do only what they have privileges for. */
const startSecuredKafka = async () => {
  // A broker advertises its address, so the port must be known before the start.
  const port = await freePort()
  return startKafka({
    port,
    settings: {
      KAFKA_LISTENERS: 'CLIENT://:9092,INTERNAL://:19092,CONTROLLER://:9093',
      KAFKA_ADVERTISED_LISTENERS: `CLIENT://localhost:${port},INTERNAL://localhost:19092`,
      KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: 'CLIENT:SASL_PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT',
      KAFKA_INTER_BROKER_LISTENER_NAME: 'INTERNAL',
      KAFKA_SASL_ENABLED_MECHANISMS: 'PLAIN',
      KAFKA_LISTENER_NAME_CLIENT_PLAIN_SASL_JAAS_CONFIG: `org.apache.kafka.common.security.plain.PlainLoginModule required ${login};`,
      KAFKA_AUTHORIZER_CLASS_NAME: 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      // ANONYMOUS is the broker itself.
      KAFKA_SUPER_USERS: 'User:ANONYMOUS;User:admin',
    },
  })
}

describe.skipIf(!services)('the Kafka users of the component strimzi', () => {
  let container: StartedTestContainer
  let kafkaBrokers: string[]
  let waymark: Constellation

  const clientOf = (username: string) =>
    new kafkajs.Kafka({
      brokers: kafkaBrokers,
      sasl: { mechanism: 'plain', username, password: PASSWORD },
      logLevel: kafkajs.logLevel.NOTHING,
      // A busy machine exceeds the default of a second. Refusals are never retried.
      connectionTimeout: 20_000,
    })

  beforeAll(async () => {
    ;({ container, brokers: kafkaBrokers } = await startSecuredKafka())
    const admin = clientOf('admin').admin()
    await admin.connect()
    await admin.createAcls({ acl: privileges() })
    await admin.disconnect()
    const settings = {
      KAFKA_SASL_MECHANISM: 'plain',
      KAFKA_SASL_USERNAME: 'waymark-kafka-topics',
      KAFKA_SASL_PASSWORD: PASSWORD,
      // The privileges are for names without a prefix.
      KAFKA_TOPIC_PREFIX: '',
      WEBHOOK_ALLOW_PRIVATE_ADDRESSES: 'true',
    }
    waymark = await startDistributed({ ...requireServices(), kafkaBrokers }, settings, (app) => ({
      KAFKA_SASL_USERNAME: `waymark-kafka-${app}`,
    }))
  })
  afterAll(async () => {
    await waymark?.stop()
    await container?.stop({ timeout: 0 })
  })

  const shared = async (): Promise<Constellation> => ({ ...waymark, stop: async () => {} })
  describeMainJob(shared)
  describe('catalog, conversions and keys', () => describeIngestion(shared))
  describe('email', () => describeEmail(shared))
  describe('short links', () => describeShortLinks(shared))
  describe('decisions', () => describeDecisions(shared))
  describe('webhooks', () => describeWebhooks(shared))

  it('let management-api read the lag of every group', async () => {
    const response = await waymark.request(`/api/projects/${waymark.projectId}/stats/pipeline`)
    const { consumerGroups: lags } = (await response.json()) as { consumerGroups: object[] | null }
    expect(lags).toHaveLength(Object.keys(consumerGroups).length)
  })

  it('let KEDA read the lag, and nothing else', async () => {
    const client = clientOf('waymark-kafka-keda')
    const admin = client.admin()
    await admin.connect()
    for (const { group, topic } of Object.values(consumerGroups)) {
      expect((await admin.fetchTopicOffsets(topic.name)).length).toBeGreaterThan(0)
      expect(await admin.fetchOffsets({ groupId: group, topics: [topic.name] })).toHaveLength(1)
    }
    await admin.disconnect()
    const producer = client.producer()
    await producer.connect()
    await expect(producer.send({ topic: enrichedEvents.name, messages: [{ value: '{}' }] })).rejects.toThrow(
      /not authorized/i,
    )
    await producer.disconnect()
  })

  it.each([
    ['link-redirector', 'events.enriched.v1'],
    ['ingest-gateway', 'events.enriched.v1'],
    ['coupon-service', 'coupons.redeemed.v1'],
    ['enrichment-consumer', 'ingest.records.v1'],
    ['email-consumer', 'emails.sent.v1'],
  ])('refuse that %s writes to %s', async (app, topic) => {
    const producer = clientOf(`waymark-kafka-${app}`).producer()
    await producer.connect()
    await expect(producer.send({ topic, messages: [{ value: '{}' }] })).rejects.toThrow(/not authorized/i)
    await producer.disconnect()
  })

  it('let a service join its own group, and not that of another one', async () => {
    const outcomeOf = async (groupId: string): Promise<string> => {
      const consumer = clientOf('waymark-kafka-webhook-dispatcher').consumer({ groupId })
      const outcome = new Promise<string>((resolve) => {
        consumer.on(consumer.events.GROUP_JOIN, () => resolve('joined'))
        consumer.on(consumer.events.CRASH, () => resolve('refused'))
      })
      await consumer.connect()
      await consumer.subscribe({ topics: [enrichedEvents.name] })
      await consumer.run({ eachMessage: async () => {} })
      const found = await outcome
      await consumer.disconnect()
      return found
    }
    expect(await outcomeOf('webhooks')).toBe('joined')
    expect(await outcomeOf('email')).toBe('refused')
  })
})
