import { PATTERN_DESCRIPTION } from '@waymark/contracts/problem-message'
import { type ServiceName, serviceNames } from '@waymark/database'
import { clickhouseConfig, databaseConfig, kafkaConfig, type Variable, variable } from '@waymark/service-kit'
import { type TString, Type } from 'typebox'
import { type Step, storesOf } from './steps.ts'

const rolePassword = (service: ServiceName) =>
  variable(
    `SERVICE_ROLE_PASSWORD_${service.toUpperCase().replaceAll('-', '_')}`,
    Type.String({
      default: '',
      pattern: '^[ -~]*$',
      [PATTERN_DESCRIPTION]: 'printable ASCII characters',
      description: `Creates the database role of ${service} if it is missing, and sets this password.`,
    }),
  )

/** The variables of the setup. */
export const setupConfig = {
  database: databaseConfig,
  kafka: kafkaConfig,
  clickhouse: clickhouseConfig,
  clickhouseTables: {
    waitMs: variable(
      'CLICKHOUSE_WAIT_MS',
      Type.Integer({
        minimum: 0,
        default: 0,
        description: 'How long, in ms, the setup waits for ClickHouse.',
      }),
    ),
    cluster: variable(
      'CLICKHOUSE_CLUSTER',
      Type.String({
        default: '',
        pattern: '^[A-Za-z0-9_-]*$',
        description:
          'Name of the cluster in the configuration of ClickHouse that has replicated tables. Empty: one server.',
      }),
    ),
  },
  roles: {
    prefix: variable(
      'SERVICE_ROLE_PREFIX',
      Type.String({
        default: 'waymark_',
        pattern: '^[a-z_][a-z0-9_]{0,39}$',
        [PATTERN_DESCRIPTION]: '1 to 40 lower-case letters, digits and _, not beginning with a digit',
        description: 'Prefix of the database roles of services, such as `waymark_ingest_gateway`.',
      }),
    ),
    passwords: Object.fromEntries(serviceNames.map((service) => [service, rolePassword(service)])) as Record<
      ServiceName,
      Variable<TString>
    >,
  },
  topics: {
    waitMs: variable(
      'KAFKA_WAIT_MS',
      Type.Integer({
        minimum: 0,
        default: 0,
        description: 'How long, in ms, the setup waits for Kafka.',
      }),
    ),
    partitions: variable(
      'KAFKA_PARTITIONS',
      Type.Integer({ minimum: 1, default: 12, description: 'Partitions of each new topic.' }),
    ),
    replication: variable(
      'KAFKA_REPLICATION',
      Type.Integer({ minimum: 1, default: 1, description: 'Replicas of each new topic.' }),
    ),
    retentionBytes: variable(
      'KAFKA_RETENTION_BYTES',
      Type.Integer({
        minimum: 0,
        default: 0,
        description:
          'Maximum size of each partition, in bytes. The oldest records of a larger one are deleted, also unread ones. 0: as it is set in Kafka.',
      }),
    ),
  },
  groups: {
    rewindTo: variable(
      'REWIND_TO',
      Type.String({
        default: '',
        description:
          'The step `rewind` lets the consumer groups that store records read everything since this time (RFC 3339) again.',
      }),
    ),
    skipped: variable(
      'SKIP_GROUPS',
      Type.Array(Type.String(), {
        default: ['email', 'webhooks'],
        description: 'The consumer groups that leave out the records that wait for them, by the step `skip`.',
      }),
    ),
  },
  account: {
    email: variable(
      'ACCOUNT_EMAIL',
      Type.String({
        default: '',
        description:
          'Email address of the account that the step `account` creates, or whose second factor `reset-second-factor` removes.',
      }),
    ),
    name: variable(
      'ACCOUNT_NAME',
      Type.String({
        default: '',
        maxLength: 200,
        description: 'Name of the owner of the account that is created.',
      }),
    ),
  },
  demo: {
    baseUrl: variable(
      'DEMO_BASE_URL',
      Type.String({
        default: '',
        description: 'Creates the demo project and prints its `demo.json` with this address.',
      }),
    ),
    file: variable(
      'DEMO_FILE',
      Type.String({ default: '', description: 'Writes `demo.json` to this file instead of printing it.' }),
    ),
    secret: variable(
      'DEMO_SECRET',
      Type.String({
        default: '',
        pattern: '^[a-z0-9.-]*$',
        description: 'Writes `demo.json` to the Kubernetes Secret of this name instead of printing it.',
      }),
    ),
  },
} as const

/** The variables of steps: those of a store only when one of the steps uses it. */
export const configOf = (steps: ReadonlySet<Step>) => {
  const { database, clickhouse, kafka, ...others } = setupConfig
  const stores = storesOf(steps)
  return {
    ...others,
    ...(stores.has('database') && { database }),
    ...(stores.has('clickhouse') && { clickhouse }),
    ...(stores.has('kafka') && { kafka }),
  }
}
