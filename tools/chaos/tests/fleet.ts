import { openDatabase } from '@waymark/database'
import {
  type AppName,
  type AppProcess,
  endApp,
  freePort,
  prepareDistributed,
  requireServices,
  type Services,
  startApp,
} from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'

/** One process of an app. */
export type Replica = {
  app: AppName
  port: number
  pid: number
  request(path: string, init?: RequestInit): Promise<Response>
  /** Kills it, like a power cut. */
  kill(): Promise<void>
  /** Sends SIGTERM. Returns its exit code and the duration of the shutdown. */
  terminate(): Promise<{ exitCode: number | null; tookMs: number }>
  /** Starts it again on its port after its exit. */
  restart(): Promise<void>
  /** Whether the process runs; no fault may end it. */
  isAlive(): boolean
  /** Its output. */
  output(): string
}

/** A project on real servers, and any number of processes of each app. */
export type Fleet = Awaited<ReturnType<typeof createFleet>>

/** The name of the conversion event. */
export const METERED = 'ordered'

/**
 * Prepares the servers for a project in which `ordered` is a conversion. The tests connect to the servers directly;
 * `settings` may give the processes other addresses. `root` is the folder of another version that prepares them.
 */
export const createFleet = async (
  servers: Services = requireServices(),
  settings: Record<string, string> = {},
  root?: string,
) => {
  const world = await prepareDistributed(servers, settings, root)
  const { apiKey, projectId } = world.access
  const db = openDatabase({
    url: world.env.DATABASE_URL,
    poolSize: 4,
    applicationName: 'chaos',
    onError: () => {},
  })
  // `create` would read the columns of this version, and an earlier one has prepared the database.
  await db.prisma.meteringSelector.createMany({
    data: { id: uuidv7(), projectId, eventName: METERED, amountProperty: 'total' },
  })
  const replicas: Replica[] = []

  /** Starts a process of an app. `env` overrides the shared environment. `from` is the folder of another version. */
  const start = async (app: AppName, env: Record<string, string> = {}, from?: string): Promise<Replica> => {
    // Restarts keep the port, which the requests of a load use.
    const port = await freePort()
    const launch = (): Promise<AppProcess> =>
      startApp(`apps/${app}/src/main.ts`, port, { ...world.env, ...env }, from)
    let running = await launch()
    const replica: Replica = {
      app,
      port,
      get pid() {
        return running.child.pid ?? 0
      },
      request: (path, init = {}) => {
        const headers = new Headers(init.headers)
        if (!headers.has('X-API-Key')) headers.set('X-API-Key', apiKey)
        return fetch(`http://localhost:${port}${path}`, { ...init, headers })
      },
      kill: async () => {
        await endApp(running, 'SIGKILL')
      },
      terminate: async () => {
        const begunAt = performance.now()
        const exitCode = await endApp(running, 'SIGTERM')
        return { exitCode, tookMs: performance.now() - begunAt }
      },
      restart: async () => {
        running = await launch()
      },
      isAlive: () => running.child.exitCode === null && running.child.signalCode === null,
      output: () => running.output(),
    }
    replicas.push(replica)
    return replica
  }

  return {
    ...world.access,
    env: world.env,
    credentialsOf: world.credentialsOf,
    setUp: world.setUp,
    servers,
    db,
    start,
    /** The path of events: a gateway, which gets `gatewayEnv` too, an enrichment and a persistence consumer. */
    startPipeline: async (env: Record<string, string> = {}, gatewayEnv: Record<string, string> = {}) => {
      const [gateway, enrichment, persistence] = await Promise.all([
        start('ingest-gateway', { ...env, ...gatewayEnv }),
        start('enrichment-consumer', env),
        start('persistence-consumer', env),
      ])
      return { gateway, enrichment, persistence }
    },
    /** The last output of each process, for the analysis of a failure. */
    lastWords: (): string =>
      replicas.map(({ app, output }) => `--- ${app}\n${output().slice(-3_000)}`).join('\n'),
    stop: async () => {
      await Promise.all(replicas.map((replica) => replica.kill()))
      await db.close()
      await world.cleanUp()
    },
  }
}
