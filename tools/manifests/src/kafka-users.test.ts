import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import * as contracts from '@waymark/contracts/topics'
import { describe, expect, it } from 'vitest'
import { findKustomize, render } from './render.ts'
import { workloadsOf } from './workloads.ts'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const PREFIX = 'waymark-kafka-'
const { consumerGroups, deadLetters, topics } = contracts

type Acl = { resource: { type: string; name: string; patternType: string }; operations: string[] }
type UserSpec = { authorization?: { type: string; acls: Acl[] } }

const kustomize = findKustomize()
const objects = kustomize ? render(kustomize, 'overlays/operators') : []

/** The privileges of each user, as `topic events.enriched.v1 Read`. */
const users = new Map(
  objects
    .filter(({ kind }) => kind === 'KafkaUser')
    .map(({ metadata, spec }) => [
      metadata.name.slice(PREFIX.length),
      ((spec as UserSpec).authorization?.acls ?? []).flatMap(({ resource, operations }) =>
        operations.map((operation) => `${resource.type} ${resource.name} ${operation}`),
      ),
    ]),
)
const apps = workloadsOf(objects)
  .filter(({ kind }) => kind === 'Deployment')
  .map(({ name }) => name)

/** The names on which a user has a privilege. */
const namesOf = (user: string, type: string, operation: string): string[] =>
  (users.get(user) ?? [])
    .filter((acl) => acl.startsWith(`${type} `) && acl.endsWith(` ${operation}`))
    .map((acl) => acl.split(' ')[1] ?? '')
    .sort()

/** The source of an app, without tests. */
const sourceOf = (app: string): string =>
  readdirSync(path.join(ROOT, 'apps', app, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => readFileSync(path.join(ROOT, 'apps', app, 'src', name), 'utf8'))
    .join('\n')

/** The groups that an app subscribes with. */
const subscriptionsOf = (app: string) =>
  [...sourceOf(app).matchAll(/consumerGroups\.(\w+)/g)].map(
    ([, name]) => consumerGroups[name as keyof typeof consumerGroups],
  )

const unique = (names: readonly string[]): string[] => [...new Set(names)].sort()

describe.skipIf(!kustomize)('the Kafka users', () => {
  it('are those of the apps, of the Job that creates topics, and of KEDA', () => {
    expect([...users.keys()].sort()).toEqual([...apps, 'keda', 'topics'].sort())
  })

  it('are used by their own app or Job only', () => {
    for (const { name, pod } of workloadsOf(objects)) {
      const secrets = (pod.volumes ?? []).flatMap(({ secret }) => secret?.secretName ?? [])
      const own = name === 'migrate' || name === 'demo' ? [] : [PREFIX + name]
      expect([name, secrets.filter((secret) => secret.startsWith(PREFIX))]).toEqual([name, own])
      const username = pod.containers[0]?.env?.find((one) => one.name === 'KAFKA_SASL_USERNAME')?.value
      expect([name, username]).toEqual([name, own[0]])
    }
  })

  it('read the topics and groups to which their app subscribes, and no others', () => {
    for (const app of apps) {
      const subscriptions = subscriptionsOf(app)
      const groups = subscriptions.map(({ group }) => group)
      const read = subscriptions.map(({ topic }) => topic.name)
      expect([app, namesOf(app, 'group', 'Read')]).toEqual([app, unique(groups)])
      expect([app, namesOf(app, 'topic', 'Read')]).toEqual([app, unique(read)])
    }
    const subscribed = apps.flatMap((app) => subscriptionsOf(app).map(({ group }) => group))
    expect(subscribed.sort()).toEqual(
      Object.values(consumerGroups)
        .map(({ group }) => group)
        .sort(),
    )
  })

  it('write the topics to which their app publishes, and dead letters if it consumes', () => {
    const all = unique(topics.map(({ name }) => name))
    const published: Record<string, { name: string }[]> = {
      'ingest-gateway': [contracts.ingestRecords, contracts.rejectedEvents, contracts.exposures],
      'enrichment-consumer': [contracts.enrichedEvents],
      'link-redirector': [contracts.linkClicks],
      'decision-service': [contracts.exposures],
    }
    for (const app of apps) {
      const consumes = subscriptionsOf(app).length > 0 ? [deadLetters.name] : []
      // The outbox and the replay of dead letters may have records of any topic.
      const expected = ['persistence-consumer', 'management-api'].includes(app)
        ? all
        : unique([...(published[app] ?? []).map(({ name }) => name), ...consumes])
      expect([app, namesOf(app, 'topic', 'Write')]).toEqual([app, expected])
    }
  })

  it('have no other privileges, except those to create topics and to read the lag', () => {
    const others = [...users].map(([user, acls]) => [
      user,
      unique(acls.filter((acl) => !/ (Read|Write)$/.test(acl)).map((acl) => acl.replace(/ \S+ /, ' '))),
    ])
    const expected: Record<string, string[]> = {
      'management-api': ['group Describe'],
      'persistence-consumer': ['group Describe'],
      keda: ['group Describe', 'topic Describe'],
      topics: ['topic AlterConfigs', 'topic Create', 'topic Describe', 'topic DescribeConfigs'],
    }
    for (const [user, acls] of others) expect([user, acls]).toEqual([user, expected[`${user}`] ?? []])
    for (const operation of ['AlterConfigs', 'Create', 'Describe', 'DescribeConfigs'])
      expect(namesOf('topics', 'topic', operation)).toEqual(unique(topics.map(({ name }) => name)))
  })

  it('are in the table of docs/deployment.md', () => {
    const list = (names: readonly string[]): string => {
      if (names.length === topics.length) return 'all'
      return names.length === 0 ? 'none' : names.map((name) => `\`${name}\``).join(', ')
    }
    const rows = apps.map((app) => {
      const [read, written] = ['Read', 'Write'].map((operation) => list(namesOf(app, 'topic', operation)))
      return `| ${app} | ${read} | ${written} |`
    })
    const docs = readFileSync(path.join(ROOT, 'docs/deployment.md'), 'utf8').split('\n')
    expect(rows.filter((row) => !docs.includes(row))).toEqual([])
  })
})
