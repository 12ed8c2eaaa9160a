import { Type } from 'typebox'
import { type Config, variable } from './config.ts'

/** A text that may be left out, and then is empty. */
const optional = (name: string, description: string) =>
  variable(name, Type.String({ default: '', description }))

const tlsFiles = (prefix: string, server: string, its: string) => ({
  caFile: optional(
    `${prefix}_CA_FILE`,
    `PEM file with the certificates that ${its} certificate must be signed by; without it, those that Node.js trusts.`,
  ),
  certFile: optional(`${prefix}_CERT_FILE`, `PEM file with the certificate to show to ${server}.`),
  keyFile: optional(`${prefix}_KEY_FILE`, 'PEM file with the key of that certificate.'),
})
export type TlsFiles = Config<ReturnType<typeof tlsFiles>>

/** How to reach PostgreSQL. */
export const databaseConfig = {
  url: variable(
    'DATABASE_URL',
    Type.String({ minLength: 1, description: 'PostgreSQL, as `postgres://user:password@host:5432/name`.' }),
  ),
  username: optional('DATABASE_USERNAME', 'In place of the one in the URL.'),
  password: optional('DATABASE_PASSWORD', 'In place of the one in the URL.'),
  poolSize: variable(
    'DATABASE_POOL_SIZE',
    Type.Integer({
      minimum: 2,
      maximum: 500,
      default: 10,
      description: 'Most connections to PostgreSQL per process.',
    }),
  ),
  waitMs: variable(
    'DATABASE_WAIT_MS',
    Type.Integer({
      minimum: 0,
      default: 0,
      description: 'How long, in ms, a start waits for the database and its migrations before it fails.',
    }),
  ),
  tlsMode: variable(
    'DATABASE_TLS_MODE',
    Type.Union(
      ['', 'disable', 'require', 'verify-ca', 'verify-full'].map((mode) => Type.Literal(mode)),
      {
        default: '',
        description:
          "libpq's `sslmode`, in place of the one in the URL: `require` encrypts, `verify-ca` also checks who " +
          "signed the server's certificate, `verify-full` also its host name.",
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
      description: 'Redis, as `redis://user:password@host:6379/0`, or `rediss://` for TLS.',
    }),
  ),
  username: optional('REDIS_USERNAME', 'In place of the one in the URL.'),
  password: optional('REDIS_PASSWORD', 'In place of the one in the URL.'),
  tls: tlsFiles('REDIS_TLS', 'Redis', 'its'),
  cluster: variable(
    'REDIS_CLUSTER',
    Type.Boolean({
      default: false,
      description: 'Whether the URL names a node of a Redis Cluster, which tells the others.',
    }),
  ),
  sentinels: variable(
    'REDIS_SENTINELS',
    Type.Array(Type.String({ pattern: '^[^/@]+:\\d+$' }), {
      default: [],
      description:
        "Sentinels, as `host:26379,host:26379`: they tell the master's address in place of the URL.",
    }),
  ),
  sentinelMaster: variable(
    'REDIS_SENTINEL_MASTER',
    Type.String({ default: 'mymaster', description: 'The name under which the sentinels know the master.' }),
  ),
  sentinelPassword: optional('REDIS_SENTINEL_PASSWORD', 'What the sentinels themselves ask for.'),
  keyPrefix: variable(
    'REDIS_KEY_PREFIX',
    Type.String({ default: 'waymark:', description: 'In front of every key.' }),
  ),
} as const

/** How to reach Kafka and to consume from it. */
export const kafkaConfig = {
  brokers: variable(
    'KAFKA_BROKERS',
    Type.Array(Type.String(), { minItems: 1, description: 'Brokers, as `host:9092,host:9092`.' }),
  ),
  tlsEnabled: variable(
    'KAFKA_TLS',
    Type.Boolean({ default: false, description: 'Whether the brokers are reached by TLS.' }),
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
      { default: 'none', description: 'How to sign in to the brokers.' },
    ),
  ),
  saslUsername: optional('KAFKA_SASL_USERNAME', 'Whom to sign in as.'),
  saslPassword: optional('KAFKA_SASL_PASSWORD', 'With which password.'),
  topicPrefix: variable(
    'KAFKA_TOPIC_PREFIX',
    Type.String({ default: '', description: 'In front of every topic and group.' }),
  ),
  compression: variable(
    'KAFKA_COMPRESSION',
    Type.Union([Type.Literal('none'), Type.Literal('gzip'), Type.Literal('zstd')], {
      default: 'zstd',
      description: 'How record batches are compressed.',
    }),
  ),
  sessionTimeoutMs: variable(
    'KAFKA_SESSION_TIMEOUT_MS',
    Type.Integer({
      minimum: 6_000,
      maximum: 300_000,
      default: 15_000,
      description:
        'After this many ms of silence a consumer is taken for dead and its partitions go to others.',
    }),
  ),
  partitionsAtOnce: variable(
    'KAFKA_PARTITIONS_AT_ONCE',
    Type.Integer({
      minimum: 1,
      maximum: 48,
      default: 4,
      description: 'Partitions that a consumer handles side by side.',
    }),
  ),
} as const
