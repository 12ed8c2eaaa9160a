import { Type } from 'typebox'
import { type Config, variable } from './config.ts'

const perMinute = (name: string, defaultLimit: number, what: string) =>
  variable(
    name,
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      default: defaultLimit,
      description: `${what} per minute, project and client address.`,
    }),
  )

const accountLimit = (name: string, defaultLimit: number, description: string) =>
  variable(name, Type.Integer({ minimum: 1, maximum: 1_000_000, default: defaultLimit, description }))

/** How much clients may ask for; a project's own settings come first. */
export const limitsConfig = {
  ingestPerMinute: perMinute('LIMIT_INGEST_PER_MINUTE', 3_000, 'Requests to `/api/v1/t`'),
  profilePerMinute: perMinute('LIMIT_PROFILE_PER_MINUTE', 60, 'Profile writes'),
  decidePerMinute: perMinute('LIMIT_DECIDE_PER_MINUTE', 30, 'Decisions, and as many by OFREP,'),
  registerPerHour: accountLimit('LIMIT_REGISTER_PER_HOUR', 10, 'Registrations per hour and client address.'),
  signInPerMinute: accountLimit('LIMIT_SIGN_IN_PER_MINUTE', 20, 'Sign-ins per minute and client address.'),
  signInFailures: accountLimit(
    'LIMIT_SIGN_IN_FAILURES',
    5,
    'Failed sign-ins per 15 minutes, account and client address.',
  ),
} as const
export type Limits = Config<typeof limitsConfig>

/** Where the database of addresses is, if there is one. */
export const geoConfig = {
  file: variable(
    'GEOIP_DATABASE',
    Type.String({
      default: '',
      description:
        'An MMDB file (GeoLite2 City or Country, DB-IP) that tells countries and cities; none when empty.',
    }),
  ),
} as const

/** The variables of the distributed platform. */
export const platformConfig = {
  database: {
    url: variable(
      'DATABASE_URL',
      Type.String({ minLength: 1, description: 'PostgreSQL, as `postgres://user:password@host:5432/name`.' }),
    ),
    poolSize: variable(
      'DATABASE_POOL_SIZE',
      Type.Integer({
        minimum: 2,
        maximum: 500,
        default: 10,
        description: 'Most connections to PostgreSQL per process.',
      }),
    ),
  },
  redis: {
    url: variable('REDIS_URL', Type.String({ minLength: 1, description: 'Redis, as `redis://host:6379`.' })),
    keyPrefix: variable(
      'REDIS_KEY_PREFIX',
      Type.String({ default: 'waymark:', description: 'In front of every key.' }),
    ),
  },
  kafka: {
    brokers: variable(
      'KAFKA_BROKERS',
      Type.Array(Type.String(), { minItems: 1, description: 'Brokers, as `host:9092,host:9092`.' }),
    ),
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
  },
  limits: limitsConfig,
  geo: geoConfig,
} as const
export type PlatformConfig = Config<typeof platformConfig>

/**
 * The variables of a process that answers HTTP. Each app has a default port of its own, so that all of them
 * can run on one machine; its metrics are as far from 9464 as its port is from 8080.
 */
export const httpConfig = (defaultPort: number) => ({
  port: variable(
    'PORT',
    Type.Integer({
      minimum: 0,
      maximum: 65_535,
      default: defaultPort,
      description: 'Where requests are answered.',
    }),
  ),
  metricsPort: variable(
    'METRICS_PORT',
    Type.Integer({
      minimum: 0,
      maximum: 65_535,
      default: 9464 + defaultPort - 8080,
      description: 'Where Prometheus finds `/metrics`.',
    }),
  ),
  trustedProxies: variable(
    'TRUSTED_PROXIES',
    Type.Integer({
      minimum: 0,
      maximum: 10,
      default: 0,
      description: 'Proxies in front, whose `X-Forwarded-For` counts.',
    }),
  ),
})
export type HttpConfig = Config<ReturnType<typeof httpConfig>>
