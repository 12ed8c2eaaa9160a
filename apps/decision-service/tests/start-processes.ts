import { randomBytes, randomUUID } from 'node:crypto'
import type { DecisionDefinition } from '@waymark/contracts/decision-definition'
import { type Database, openDatabase } from '@waymark/database'
import { generateApiKey, parseApiKey } from '@waymark/domain/key'
import { ensureDemoProject } from '@waymark/project-config'
import {
  type CorePlatform,
  createScope,
  distributedPlatform,
  platformConfig,
  readConfig,
  type Scope,
  startService,
} from '@waymark/service-kit'
import { createMemoryLog, createTestDatabase, requireServices } from '@waymark/testing'
import { createDecisionService } from '../src/app.ts'

type FlagStreams = Parameters<typeof createDecisionService>[1]
type Settings = { env?: Record<string, string>; flagStreams?: FlagStreams }

/** One process of the decision service. */
type Started = { port: number; platform: CorePlatform; stop: () => Promise<void> }

/** Processes of the decision service on the same servers, with the demo project. */
export type Processes = {
  ports: number[]
  db: Database
  apiKey: string
  publicKey: string
  projectId: string
  start: (settings?: Settings) => Promise<Started>
  /** Creates a server key with a limit of its own. */
  addKey: (requestsPerMinute: number) => Promise<string>
  /** Sets the own limit of the first server key. */
  setOwnLimit: (requestsPerMinute: number | null) => Promise<unknown>
  /** Creates an active decision, and returns a function that replaces its definition. */
  addDecision: (key: string, definition: DecisionDefinition) => Promise<Edit>
  /** Notes a change of the project, as every write of the management API does. */
  noteChange: () => Promise<unknown>
  stop: () => Promise<void>
}
export type Edit = (definition: DecisionDefinition) => Promise<unknown>

/** Starts `count` processes on the servers that tests share. */
export const startProcesses = async (count: number, settings: Settings = {}): Promise<Processes> => {
  const { redisUrl, kafkaBrokers } = requireServices()
  const log = createMemoryLog()
  const whole = createScope(log)
  const database = await createTestDatabase()
  whole.onStop('database', () => database.drop())
  const db = openDatabase({ url: database.url, poolSize: 2, applicationName: 'test', onError: () => {} })
  whole.onStop('pool', () => db.close())
  const { apiKey, publicKey, projectId } = await ensureDemoProject(db)
  const prefix = `t${randomBytes(5).toString('hex')}.`

  const start = async ({ env = {}, flagStreams }: Settings = settings): Promise<Started> => {
    const config = readConfig(platformConfig, {
      DATABASE_URL: database.url,
      REDIS_URL: redisUrl,
      REDIS_KEY_PREFIX: prefix,
      KAFKA_BROKERS: kafkaBrokers.join(','),
      KAFKA_TOPIC_PREFIX: prefix,
      ...env,
    })
    const scope: Scope = createScope(log)
    whole.onStop('process', () => scope.dispose())
    const platform = await distributedPlatform(config, {
      name: `test-${randomUUID()}`,
      log,
      scope,
      // A busy machine stops for longer than the default, and a process then counts for itself.
      redisTimeoutMs: 10_000,
    })
    const http = { port: 0, metricsPort: 0, trustedProxies: 0 }
    const { port } = await startService(createDecisionService(platform, flagStreams), http, platform, scope)
    return { port, platform, stop: () => scope.dispose() }
  }
  const ports: number[] = []
  for (let n = 0; n < count; n++) ports.push((await start()).port)

  const noteChange = () => db.prisma.configChange.create({ data: { projectId } })
  return {
    ports,
    db,
    apiKey,
    publicKey,
    projectId,
    start,
    noteChange,
    addKey: async (requestsPerMinute) => {
      const { key, keyId, secretHash } = generateApiKey('sec')
      await db.prisma.apiKey.create({
        data: {
          id: randomUUID(),
          keyId,
          projectId,
          name: 'Server',
          kind: 'sec',
          scopes: ['decide'],
          secretHash: new Uint8Array(secretHash),
          requestsPerMinute,
        },
      })
      return key
    },
    setOwnLimit: (requestsPerMinute) =>
      db.prisma.$transaction([
        db.prisma.apiKey.update({
          where: { keyId: parseApiKey(apiKey)?.keyId ?? '' },
          data: { requestsPerMinute },
        }),
        noteChange(),
      ]),
    addDecision: async (key, definition) => {
      const id = randomUUID()
      const stored = (given: DecisionDefinition) => JSON.parse(JSON.stringify(given)) as object
      const data = { id, projectId, key, status: 'active', definition: stored(definition) }
      await db.prisma.$transaction([db.prisma.decision.create({ data }), noteChange()])
      return (next) =>
        db.prisma.$transaction([
          db.prisma.decision.update({
            where: { id },
            data: { definition: stored(next), version: { increment: 1 } },
          }),
          noteChange(),
        ])
    },
    stop: () => whole.dispose(),
  }
}

/** A decision that gives everyone the variant `on-<n>` with the value `n`. */
export const numbered = (n: number): DecisionDefinition => ({
  name: null,
  description: null,
  variants: [
    { key: `off-${n}`, value: -n, couponPoolId: null },
    { key: `on-${n}`, value: n, couponPoolId: null },
  ],
  fallbackVariant: `off-${n}`,
  rules: [
    {
      id: `rule-${n}`,
      description: null,
      condition: null,
      prerequisites: [],
      rollout: 100,
      variant: `on-${n}`,
      split: null,
    },
  ],
  holdout: 0,
  frequencyCap: null,
  schedule: null,
  exclusionGroup: null,
  salt: 'salt',
})
