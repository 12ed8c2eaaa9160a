import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { readConfig } from './config.ts'
import { databaseConfig, kafkaConfig, redisConfig } from './stores-config.ts'
import { databaseUrl, kafkaOptions, redisOptions } from './stores-options.ts'

const folder = await mkdtemp(path.join(tmpdir(), 'certificates-'))
const file = async (name: string): Promise<string> => {
  const written = path.join(folder, name)
  await writeFile(written, `content of ${name}`)
  return written
}

describe('the URL of the database', () => {
  const urlFor = (env: Record<string, string>) =>
    databaseUrl(readConfig(databaseConfig, { DATABASE_URL: 'postgres://a:b@db:5432/waymark', ...env }))

  it('is the configured one', () => {
    expect(urlFor({})).toBe('postgres://a:b@db:5432/waymark')
  })

  it('contains credentials with any characters', () => {
    const url = new URL(urlFor({ DATABASE_USERNAME: 'ada@x', DATABASE_PASSWORD: 'p/#?: %41' }))
    expect(decodeURIComponent(url.username)).toBe('ada@x')
    expect(decodeURIComponent(url.password)).toBe('p/#?: %41')
    expect(url.host).toBe('db:5432')
  })

  it('contains the TLS mode with the meaning of libpq', () => {
    const env = { DATABASE_TLS_MODE: 'verify-ca', DATABASE_TLS_CA_FILE: '/tls/ca.crt' }
    expect(urlFor({ DATABASE_URL: 'postgres://db/waymark?sslmode=require', ...env })).toBe(
      'postgres://db/waymark?sslmode=verify-ca&sslrootcert=%2Ftls%2Fca.crt&uselibpqcompat=true',
    )
  })

  it('must be a valid URL', () => {
    expect(() => urlFor({ DATABASE_URL: 'nonsense' })).toThrow('DATABASE_URL must be a URL')
    expect(() => urlFor({ DATABASE_TLS_MODE: 'sometimes' })).toThrow('DATABASE_TLS_MODE')
  })
})

describe('the options for Kafka', () => {
  const optionsFor = (env: Record<string, string>) =>
    kafkaOptions(readConfig(kafkaConfig, { KAFKA_BROKERS: 'one:9092,two:9092', ...env }))

  it('neither encrypt nor authenticate by default', () => {
    expect(optionsFor({})).not.toHaveProperty('tls')
    expect(optionsFor({})).not.toHaveProperty('sasl')
    expect(optionsFor({ KAFKA_TLS: 'true' }).tls).toEqual({})
  })

  it('contain certificates and credentials', async () => {
    const options = optionsFor({
      KAFKA_TLS: 'true',
      KAFKA_TLS_CA_FILE: await file('ca'),
      KAFKA_TLS_CERT_FILE: await file('cert'),
      KAFKA_TLS_KEY_FILE: await file('key'),
      KAFKA_SASL_MECHANISM: 'scram-sha-512',
      KAFKA_SASL_USERNAME: 'ada',
      KAFKA_SASL_PASSWORD: 'secret',
    })
    expect(options.tls).toEqual({ ca: 'content of ca', cert: 'content of cert', key: 'content of key' })
    expect(options.sasl).toEqual({ mechanism: 'scram-sha-512', username: 'ada', password: 'secret' })
  })

  it('report what is missing, without secrets', async () => {
    expect(() => optionsFor({ KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_PASSWORD: 's3cret' })).toThrow(
      /^(?!.*s3cret).*KAFKA_SASL_USERNAME/s,
    )
    expect(() => optionsFor({ KAFKA_TLS: 'true', KAFKA_TLS_CA_FILE: path.join(folder, 'none') })).toThrow(
      /KAFKA_TLS_CA_FILE cannot be read.*ENOENT/s,
    )
    const certificate = { KAFKA_TLS_CERT_FILE: await file('cert') }
    expect(() => optionsFor({ KAFKA_TLS: 'true', ...certificate })).toThrow('go together')
  })
})

describe('the options for Redis', () => {
  const optionsFor = (env: Record<string, string>) =>
    redisOptions(readConfig(redisConfig, { REDIS_URL: 'redis://cache:6379', ...env }))

  it('connect to one server by default', () => {
    expect(optionsFor({})).toMatchObject({ url: 'redis://cache:6379', cluster: false, tls: {} })
    expect(optionsFor({})).not.toHaveProperty('sentinel')
  })

  it('use sentinels', () => {
    const env = { REDIS_SENTINELS: 'a:26379, b:26379', REDIS_SENTINEL_MASTER: 'main' }
    expect(optionsFor(env).sentinel).toEqual({
      nodes: ['a:26379', 'b:26379'],
      master: 'main',
      password: '',
    })
    expect(() => optionsFor({ REDIS_SENTINELS: 'without-port' })).toThrow('REDIS_SENTINELS')
  })
})
