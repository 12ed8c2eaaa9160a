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
  /** Ends it at once, as a power cut would. */
  kill(): Promise<void>
  /** Asks it to end; answers its exit code and how long that took. */
  terminate(): Promise<{ exitCode: number | null; tookMs: number }>
  /** Starts it again on its port after it has ended. */
  restart(): Promise<void>
  /** Whether it runs, which no fault may change. */
  isAlive(): boolean
  /** What it wrote. */
  output(): string
}

/** A project on real servers and the processes that serve it, as many of each app as a test wants. */
export type Fleet = Awaited<ReturnType<typeof createFleet>>

/** The name of the events that are conversions here. */
export const METERED = 'ordered'

/**
 * Prepares the servers for a project in which `ordered` is a conversion. The tests' own connections go straight to
 * the servers; `env` may lead the processes elsewhere.
 */
export const createFleet = async (
  servers: Services = requireServices(),
  settings: Record<string, string> = {},
) => {
  const world = await prepareDistributed(servers, settings)
  const { apiKey, projectId } = world.access
  const db = openDatabase({
    url: world.env.DATABASE_URL,
    poolSize: 4,
    applicationName: 'chaos',
    onError: () => {},
  })
  await db.prisma.meteringSelector.create({
    data: { id: uuidv7(), projectId, eventName: METERED, amountProperty: 'total' },
  })
  const replicas: Replica[] = []

  /** Starts a process of an app, with `env` in place of what the others have. */
  const start = async (app: AppName, env: Record<string, string> = {}): Promise<Replica> => {
    const port = await freePort()
    const launch = (): Promise<AppProcess> =>
      startApp(`apps/${app}/src/main.ts`, port, { ...world.env, ...env })
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
    servers,
    db,
    start,
    /** What events go through: a gateway, an enrichment and a persistence. */
    startPipeline: async (env: Record<string, string> = {}) => {
      const [gateway, enrichment, persistence] = await Promise.all([
        start('ingest-gateway', env),
        start('enrichment-consumer', env),
        start('persistence-consumer', env),
      ])
      return { gateway, enrichment, persistence }
    },
    /** The last that each process wrote, for whoever wonders why something failed. */
    lastWords: (): string =>
      replicas.map(({ app, output }) => `--- ${app}\n${output().slice(-3_000)}`).join('\n'),
    stop: async () => {
      await Promise.all(replicas.map((replica) => replica.kill()))
      await db.close()
      await world.cleanUp()
    },
  }
}
