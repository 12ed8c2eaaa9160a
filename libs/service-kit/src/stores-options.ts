import { readFileSync } from 'node:fs'
import type { RedisOptions } from '@waymark/cache'
import type { KafkaOptions } from '@waymark/event-bus'
import type { ClickHouseOptions } from '@waymark/event-store/clickhouse'
import { type Config, ConfigError } from './config.ts'
import type { clickhouseConfig, databaseConfig, kafkaConfig, redisConfig, TlsFiles } from './stores-config.ts'

type Tls = { ca?: string; cert?: string; key?: string }

/**
 * The URL of PostgreSQL with credentials and TLS parameters as in libpq. Certificates stay in their files, which are read
 * for every connection, so that they can be renewed.
 * @throws ConfigError when DATABASE_URL is not a URL
 */
export const databaseUrl = ({
  url,
  username,
  password,
  tlsMode,
  tls,
}: Config<typeof databaseConfig>): string => {
  if (!URL.canParse(url)) throw new ConfigError(['DATABASE_URL must be a URL'])
  const parsed = new URL(url)
  if (username !== '') parsed.username = encodeURIComponent(username)
  if (password !== '') parsed.password = encodeURIComponent(password)
  const parameters = {
    sslmode: tlsMode,
    sslrootcert: tls.caFile,
    sslcert: tls.certFile,
    sslkey: tls.keyFile,
  }
  for (const [name, value] of Object.entries(parameters))
    if (value !== '') parsed.searchParams.set(name, value)
  // Without it, pg treats every mode but `disable` as `verify-full`.
  if (parsed.searchParams.has('sslmode')) parsed.searchParams.set('uselibpqcompat', 'true')
  return parsed.href
}

/** Options for Redis. @throws ConfigError when a certificate cannot be read */
export const redisOptions = ({
  tls,
  sentinels,
  sentinelMaster,
  sentinelPassword,
  ...rest
}: Config<typeof redisConfig>): RedisOptions => ({
  ...rest,
  tls: readTls('REDIS_TLS', tls),
  ...(sentinels.length > 0 && {
    sentinel: { nodes: sentinels, master: sentinelMaster, password: sentinelPassword },
  }),
})

/**
 * Options for ClickHouse.
 * @throws ConfigError when the URL is not valid, or a certificate cannot be read or lacks its CA
 */
export const clickhouseOptions = ({
  url,
  username,
  password,
  tls,
  queryMemoryMb,
  ...rest
}: Config<typeof clickhouseConfig>): ClickHouseOptions => {
  if (!URL.canParse(url)) throw new ConfigError(['CLICKHOUSE_URL must be a URL'])
  const parsed = new URL(url)
  if (username !== '') parsed.username = encodeURIComponent(username)
  if (password !== '') parsed.password = encodeURIComponent(password)
  const { ca, ...certificate } = readTls('CLICKHOUSE_TLS', tls)
  if (ca === undefined && certificate.cert !== undefined)
    throw new ConfigError(['CLICKHOUSE_TLS_CA_FILE is required by CLICKHOUSE_TLS_CERT_FILE'])
  return {
    ...rest,
    url: parsed.href,
    ...(ca !== undefined && { tls: { ca, ...certificate } }),
    queryMemoryBytes: queryMemoryMb * 1_000_000,
  }
}

/** Options for Kafka. @throws ConfigError when a certificate cannot be read or credentials are missing */
export const kafkaOptions = ({
  tlsEnabled,
  tls,
  saslMechanism,
  saslUsername,
  saslPassword,
  ...rest
}: Config<typeof kafkaConfig>): Omit<KafkaOptions, 'clientId'> => {
  if (saslMechanism !== 'none' && (saslUsername === '' || saslPassword === ''))
    throw new ConfigError([
      'KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD are required by KAFKA_SASL_MECHANISM',
    ])
  return {
    ...rest,
    ...(tlsEnabled && { tls: readTls('KAFKA_TLS', tls) }),
    ...(saslMechanism !== 'none' && {
      sasl: { mechanism: saslMechanism, username: saslUsername, password: saslPassword },
    }),
  }
}

const readTls = (prefix: string, { caFile, certFile, keyFile }: TlsFiles): Tls => {
  if ((certFile === '') !== (keyFile === ''))
    throw new ConfigError([`${prefix}_CERT_FILE and ${prefix}_KEY_FILE go together`])
  return {
    ...readPem('ca', `${prefix}_CA_FILE`, caFile),
    ...readPem('cert', `${prefix}_CERT_FILE`, certFile),
    ...readPem('key', `${prefix}_KEY_FILE`, keyFile),
  }
}

const readPem = (part: keyof Tls, variable: string, file: string): Tls => {
  if (file === '') return {}
  try {
    return { [part]: readFileSync(file, 'utf8') }
  } catch (error) {
    throw new ConfigError([`${variable} cannot be read: ${error instanceof Error ? error.message : error}`])
  }
}
