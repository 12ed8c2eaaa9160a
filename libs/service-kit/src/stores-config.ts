import { PATTERN_DESCRIPTION } from '@waymark/contracts/problem-message'
import { Type } from 'typebox'
import { type Config, variable } from './config.ts'

/** An optional variable. The default is the empty string. */
const optional = (name: string, description: string) =>
  variable(name, Type.String({ default: '', description }))

const tlsFiles = (prefix: string, server: string, its: string) => ({
  caFile: optional(
    `${prefix}_CA_FILE`,
    `PEM file with the CA certificates that must have signed ${its} certificate. Default: those that Node.js trusts.`,
  ),
  certFile: optional(`${prefix}_CERT_FILE`, `PEM file with the client certificate for ${server}.`),
  keyFile: optional(`${prefix}_KEY_FILE`, 'PEM file with the private key of the client certificate.'),
})
export type TlsFiles = Config<ReturnType<typeof tlsFiles>>

/** How to reach PostgreSQL. */
export const databaseConfig = {
  url: variable(
    'DATABASE_URL',
    Type.String({
      minLength: 1,
      description: 'Address of PostgreSQL: `postgres://user:password@host:5432/name`.',
    }),
  ),
  username: optional('DATABASE_USERNAME', 'Overrides the user name in the URL.'),
  password: optional('DATABASE_PASSWORD', 'Overrides the password in the URL.'),
  poolSize: variable(
    'DATABASE_POOL_SIZE',
    Type.Integer({
      minimum: 2,
      maximum: 500,
      default: 10,
      description: 'Maximum connections to PostgreSQL per process.',
    }),
  ),
  waitMs: variable(
    'DATABASE_WAIT_MS',
    Type.Integer({
      minimum: 0,
      default: 0,
      description:
        'How long, in ms, a starting process waits for the database. Unless it is 0, the process then waits for ' +
        'missing migrations without limit.',
    }),
  ),
  tlsMode: variable(
    'DATABASE_TLS_MODE',
    Type.Union(
      ['', 'disable', 'require', 'verify-ca', 'verify-full'].map((mode) => Type.Literal(mode)),
      {
        default: '',
        description:
          "libpq's `sslmode`; overrides the one in the URL. `require` encrypts, `verify-ca` also checks the CA of " +
          "the server's certificate, `verify-full` also its host name.",
      },
    ),
  ),
  tls: tlsFiles('DATABASE_TLS', 'the server', 'its'),
} as const

/** How to reach Redis. */
export const redisConfig = {
  url: variable(
    'REDIS_URL',
    Type.String({
      minLength: 1,
      description: 'Address of Redis: `redis://user:password@host:6379/0`, or `rediss://` for TLS.',
    }),
  ),
  username: optional('REDIS_USERNAME', 'Overrides the user name in the URL.'),
  password: optional('REDIS_PASSWORD', 'Overrides the password in the URL.'),
  tls: tlsFiles('REDIS_TLS', 'Redis', 'its'),
  cluster: variable(
    'REDIS_CLUSTER',
    Type.Boolean({
      default: false,
      description: 'Whether the URL is a node of a Redis Cluster.',
    }),
  ),
  sentinels: variable(
    'REDIS_SENTINELS',
    Type.Array(Type.String({ pattern: '^[^/@]+:\\d+$', [PATTERN_DESCRIPTION]: 'host:port' }), {
      default: [],
      description:
        'Redis Sentinels: `host:26379,host:26379`. They provide the address of the master instead of the URL.',
    }),
  ),
  sentinelMaster: variable(
    'REDIS_SENTINEL_MASTER',
    Type.String({ default: 'mymaster', description: 'Name of the master in Sentinel.' }),
  ),
  sentinelPassword: optional('REDIS_SENTINEL_PASSWORD', 'Password of the sentinels.'),
  keyPrefix: variable(
    'REDIS_KEY_PREFIX',
    Type.String({ default: 'waymark:', description: 'Prefix of every key.' }),
  ),
} as const

const analyticsQueryTimeout = variable(
  'ANALYTICS_QUERY_TIMEOUT_MS',
  Type.Integer({
    minimum: 100,
    maximum: 300_000,
    default: 10_000,
    description: 'How long, in ms, an analytics query may take.',
  }),
)

/** How to reach ClickHouse. */
export const clickhouseConfig = {
  url: variable(
    'CLICKHOUSE_URL',
    Type.String({
      pattern: '^https?://.',
      [PATTERN_DESCRIPTION]: 'an http or https URL',
      description:
        'Address of the HTTP interface of ClickHouse: `http://user:password@host:8123`, or `https://host:8443` for TLS.',
    }),
  ),
  username: optional('CLICKHOUSE_USERNAME', 'Overrides the user name in the URL.'),
  password: optional('CLICKHOUSE_PASSWORD', 'Overrides the password in the URL.'),
  database: variable(
    'CLICKHOUSE_DATABASE',
    Type.String({
      default: 'waymark',
      pattern: '^[A-Za-z_][A-Za-z0-9_]{0,62}$',
      [PATTERN_DESCRIPTION]: '1 to 63 letters, digits and _, not beginning with a digit',
      description: 'Database in ClickHouse.',
    }),
  ),
  tls: tlsFiles('CLICKHOUSE_TLS', 'ClickHouse', 'its'),
  queryTimeoutMs: analyticsQueryTimeout,
  queryMemoryMb: variable(
    'CLICKHOUSE_QUERY_MEMORY_MB',
    Type.Integer({
      minimum: 16,
      default: 2_000,
      description: 'Maximum memory, in MB, of an analytics query in ClickHouse.',
    }),
  ),
} as const

/** Resources of the embedded event store. */
export const duckdbConfig = {
  memoryMb: variable(
    'ANALYTICS_MEMORY_MB',
    Type.Integer({
      minimum: 64,
      default: 512,
      description:
        'Maximum memory, in MB, of the event store, of which an eighth is for writes only. Larger queries use temporary files.',
    }),
  ),
  threads: variable(
    'ANALYTICS_THREADS',
    Type.Integer({
      minimum: 1,
      maximum: 256,
      default: 2,
      description: 'CPU threads of the event store.',
    }),
  ),
  queryTimeoutMs: analyticsQueryTimeout,
} as const

/** How to reach Kafka and to consume from it. */
export const kafkaConfig = {
  brokers: variable(
    'KAFKA_BROKERS',
    Type.Array(Type.String(), { minItems: 1, description: 'Brokers: `host:9092,host:9092`.' }),
  ),
  tlsEnabled: variable(
    'KAFKA_TLS',
    Type.Boolean({ default: false, description: 'Whether to connect to the brokers with TLS.' }),
  ),
  tls: tlsFiles('KAFKA_TLS', 'the brokers', 'their'),
  saslMechanism: variable(
    'KAFKA_SASL_MECHANISM',
    Type.Union(
      [
        Type.Literal('none'),
        Type.Literal('plain'),
        Type.Literal('scram-sha-256'),
        Type.Literal('scram-sha-512'),
      ],
      { default: 'none', description: 'SASL mechanism.' },
    ),
  ),
  saslUsername: optional('KAFKA_SASL_USERNAME', 'SASL user name.'),
  saslPassword: optional('KAFKA_SASL_PASSWORD', 'SASL password.'),
  topicPrefix: variable(
    'KAFKA_TOPIC_PREFIX',
    Type.String({ default: '', description: 'Prefix of every topic and consumer group.' }),
  ),
  compression: variable(
    'KAFKA_COMPRESSION',
    Type.Union([Type.Literal('none'), Type.Literal('gzip'), Type.Literal('zstd')], {
      default: 'zstd',
      description: 'Compression of record batches.',
    }),
  ),
  sessionTimeoutMs: variable(
    'KAFKA_SESSION_TIMEOUT_MS',
    Type.Integer({
      minimum: 6_000,
      maximum: 300_000,
      default: 15_000,
      description: 'After this many ms without a heartbeat a consumer loses its partitions to others.',
    }),
  ),
  partitionsAtOnce: variable(
    'KAFKA_PARTITIONS_AT_ONCE',
    Type.Integer({
      minimum: 1,
      maximum: 48,
      default: 4,
      description: 'Partitions that a consumer processes concurrently; at least 8 for the storing of events.',
    }),
  ),
} as const
