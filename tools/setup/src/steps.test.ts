import { readConfig } from '@waymark/service-kit'
import { expect, it } from 'vitest'
import { configOf } from './config.ts'
import { readArguments, type Step } from './steps.ts'

it('runs every step unless some are named', () => {
  expect(readArguments([])).toEqual({ steps: new Set(['migrate', 'topics', 'demo']), newDemoKey: false })
  expect(readArguments(['topics'])).toEqual({ steps: new Set(['topics']), newDemoKey: false })
  expect(readArguments(['account'])).toEqual({ steps: new Set(['account']), newDemoKey: false })
  expect(readArguments(['reset-second-factor']).steps).toEqual(new Set(['reset-second-factor']))
  expect(readArguments(['rewind']).steps).toEqual(new Set(['rewind']))
  expect(readArguments(['skip']).steps).toEqual(new Set(['skip']))
  expect(readArguments(['--new-demo-key']).steps.size).toBe(3)
  expect(readArguments(['--new-demo-key', 'demo'])).toEqual({ steps: new Set(['demo']), newDemoKey: true })
})

it('refuses unknown steps', () => {
  expect(() => readArguments(['topics', 'everything'])).toThrow('everything')
})

const stores = { DATABASE_URL: 'postgres://db', CLICKHOUSE_URL: 'http://clickhouse', KAFKA_BROKERS: 'kafka' }
const configured = (steps: readonly Step[], env: Record<string, string>) => {
  const { database, clickhouse, kafka } = readConfig(configOf(new Set(steps)), env)
  return [database?.url, clickhouse?.url, ...(kafka?.brokers ?? [])].filter(
    (address) => address !== undefined,
  )
}

it.each<[Step, (keyof typeof stores)[]]>([
  ['migrate', ['DATABASE_URL', 'CLICKHOUSE_URL']],
  ['topics', ['KAFKA_BROKERS']],
  ['demo', ['DATABASE_URL']],
  ['account', ['DATABASE_URL']],
  ['reset-second-factor', ['DATABASE_URL']],
  ['rewind', ['KAFKA_BROKERS']],
  ['skip', ['KAFKA_BROKERS']],
])('reads the addresses of the stores that %s uses, and no others', (step, names) => {
  const own = Object.fromEntries(names.map((name) => [name, stores[name]]))
  expect(configured([step], own)).toEqual(Object.values(own))
  expect(configured([step], stores)).toEqual(Object.values(own))
  expect(() => configured([step], {})).toThrow(names.map((name) => `${name} is required`).join('\n  '))
})

it('reads the addresses of all stores for several steps', () => {
  expect(configured(['migrate', 'topics', 'demo'], stores)).toEqual(Object.values(stores))
})
