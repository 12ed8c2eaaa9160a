import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import fc from 'fast-check'
import { Type } from 'typebox'
import { afterAll, describe, expect, it } from 'vitest'
import { ConfigError, readConfig, variable } from './config.ts'
import { httpConfig, platformConfig } from './platform-config.ts'

const spec = {
  port: variable('PORT', Type.Integer({ minimum: 0, maximum: 65_535, default: 8080 })),
  store: {
    url: variable('STORE_URL', Type.String({ minLength: 1 })),
    replicas: variable('STORE_REPLICAS', Type.Array(Type.String(), { minItems: 1, default: ['one'] })),
    safe: variable('STORE_SAFE', Type.Boolean({ default: true })),
  },
}
const required = { STORE_URL: 'postgres://db' }

const problemsIn = (env: Record<string, string>): string => {
  try {
    readConfig(spec, env)
    return ''
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
}

describe('readConfig', () => {
  it('reads a tree of variables, with defaults for those that are unset', () => {
    expect(readConfig(spec, required)).toEqual({
      port: 8080,
      store: { url: 'postgres://db', replicas: ['one'], safe: true },
    })
  })

  it('converts text to the types of the schema', () => {
    const env = { PORT: '0', STORE_URL: '5432', STORE_REPLICAS: 'a, b ,c', STORE_SAFE: 'false' }
    expect(readConfig(spec, env)).toEqual({
      port: 0,
      store: { url: '5432', replicas: ['a', 'b', 'c'], safe: false },
    })
  })

  it('treats an empty variable as unset', () => {
    for (const port of ['', ' ']) expect(readConfig(spec, { ...required, PORT: port }).port).toBe(8080)
    expect(problemsIn({ STORE_URL: '' })).toContain('STORE_URL is required')
  })

  it.each(['65536', '-1', '80.5', '8080abc', 'http'])('refuses the port %j', (port) => {
    expect(problemsIn({ ...required, PORT: port })).toMatch(/^ {2}PORT must be/m)
  })

  it('reports all invalid variables at once', () => {
    const problems = problemsIn({ PORT: 'http', STORE_SAFE: 'maybe' })
    for (const name of ['PORT', 'STORE_URL', 'STORE_SAFE']) expect(problems).toContain(name)
    expect(problems).not.toContain('STORE_REPLICAS')
  })

  it('never reports a value, which may be a password', () => {
    const secret = 'hunter2'
    const union = { mode: variable('MODE', Type.Union([Type.Literal('a'), Type.Literal('b')])) }
    expect(problemsIn({ PORT: secret, STORE_SAFE: secret })).not.toContain(secret)
    expect(() => readConfig(union, { MODE: secret })).toThrow(/^(?!.*hunter2).*MODE/s)
  })

  it('returns a frozen object', () => {
    const config = readConfig(spec, required)
    expect(() => Object.assign(config, { port: 1 })).toThrow(TypeError)
    expect(() => Object.assign(config.store, { url: 'other' })).toThrow(TypeError)
  })

  it('throws only ConfigErrors, for any environment', () => {
    const value = fc.oneof(fc.string({ unit: 'binary' }), fc.integer().map(String))
    const env = fc.record(
      { PORT: value, STORE_URL: value, STORE_REPLICAS: value, STORE_SAFE: value },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(env, (given) => {
        if (problemsIn(given) !== '') return
        expect(readConfig(spec, given).port).toSatisfy(Number.isInteger)
      }),
    )
  })
})

describe('the variables of a service', () => {
  it('require only the addresses of the stores', () => {
    const env = {
      DATABASE_URL: 'postgres://db',
      REDIS_URL: 'redis://cache',
      KAFKA_BROKERS: 'k1:9092,k2:9092',
    }
    const config = readConfig({ platform: platformConfig, http: httpConfig(8081) }, env)
    expect(config.platform.kafka.brokers).toEqual(['k1:9092', 'k2:9092'])
    expect(config.http).toMatchObject({ port: 8081, trustedProxies: 0 })
  })

  it('are all reported when they are missing', () => {
    expect(() => readConfig({ platform: platformConfig }, {})).toThrow(
      /DATABASE_URL is required\n.*REDIS_URL is required\n.*KAFKA_BROKERS is required/,
    )
  })
})

describe('a variable with _FILE after its name', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'config-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const file = (text: string): string => {
    const name = path.join(folder, 'value')
    writeFileSync(name, text)
    return name
  }

  it('names a file with the value, whose last line end does not count', () => {
    expect(readConfig(spec, { STORE_URL_FILE: file('postgres://db\n') }).store.url).toBe('postgres://db')
    expect(readConfig(spec, { STORE_URL_FILE: file('postgres://db\r\n') }).store.url).toBe('postgres://db')
    expect(readConfig(spec, { STORE_URL_FILE: file(' a b ') }).store.url).toBe(' a b ')
    expect(readConfig(spec, { ...required, STORE_REPLICAS_FILE: file('one,two\n') }).store.replicas).toEqual([
      'one',
      'two',
    ])
  })

  it('does not count when it is empty', () => {
    expect(readConfig(spec, { ...required, STORE_URL_FILE: '' }).store.url).toBe('postgres://db')
  })

  it('is refused together with the variable itself', () => {
    expect(problemsIn({ ...required, STORE_URL_FILE: file('x') })).toContain(
      'STORE_URL and STORE_URL_FILE are both set: unset one of them',
    )
  })

  it('is refused when the file cannot be read, and named when its content is wrong', () => {
    expect(problemsIn({ STORE_URL_FILE: path.join(folder, 'missing') })).toMatch(
      /STORE_URL_FILE cannot be read: ENOENT/,
    )
    expect(problemsIn({ STORE_URL_FILE: file('\n') })).toContain('STORE_URL is required')
    const problems = problemsIn({ ...required, PORT_FILE: file('hunter2') })
    expect(problems).toContain('PORT must be')
    expect(problems).not.toContain('hunter2')
  })

  it('is not read for a variable whose own name ends with _FILE', () => {
    const files = {
      ca: variable('CA', Type.String({ default: '' })),
      caFile: variable('CA_FILE', Type.String({ default: '' })),
    }
    expect(readConfig(files, { CA_FILE: '/no/such/file' })).toEqual({ ca: '', caFile: '/no/such/file' })
  })
})

describe('a file in SECRETS_DIR', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'secrets-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  let count = 0
  /** A directory with these files. */
  const directory = (files: Record<string, string>): string => {
    const name = path.join(folder, `${count++}`)
    mkdirSync(name)
    for (const [file, text] of Object.entries(files)) writeFileSync(path.join(name, file), text)
    return name
  }

  it('is the value of the variable with its name, whose last line end does not count', () => {
    const SECRETS_DIR = directory({ STORE_URL: 'postgres://secret\n', OTHER: 'x' })
    expect(readConfig(spec, { SECRETS_DIR }).store.url).toBe('postgres://secret')
  })

  it('overrides the environment, and others do not', () => {
    const SECRETS_DIR = directory({ STORE_URL: 'postgres://secret' })
    const env = { ...required, STORE_URL_FILE: '/no/such/file', PORT: '1', SECRETS_DIR }
    expect(readConfig(spec, env)).toMatchObject({ port: 1, store: { url: 'postgres://secret' } })
    expect(readConfig(spec, { ...required, SECRETS_DIR: directory({}) }).store.url).toBe('postgres://db')
    expect(readConfig(spec, { ...required, SECRETS_DIR: '' }).store.url).toBe('postgres://db')
  })

  it('is refused when it cannot be read, and named without its content when that is wrong', () => {
    expect(problemsIn({ ...required, SECRETS_DIR: path.join(folder, 'missing') })).toMatch(
      /SECRETS_DIR cannot be read: ENOENT/,
    )
    const unreadable = directory({})
    mkdirSync(path.join(unreadable, 'PORT'))
    expect(problemsIn({ ...required, SECRETS_DIR: unreadable })).toMatch(/PORT in SECRETS_DIR cannot be read/)
    const problems = problemsIn({ ...required, SECRETS_DIR: directory({ PORT: 'hunter2' }) })
    expect(problems).toContain('PORT must be')
    expect(problems).not.toContain('hunter2')
  })
})
