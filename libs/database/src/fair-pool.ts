import {
  createFairQueue,
  currentWork,
  type FairQueueOptions,
  type Release,
  type WorkKind,
} from '@waymark/domain/fairness'
import { Pool, type PoolClient, type PoolConfig } from 'pg'

/** Lanes of the connections: the kinds of requests, and work of the process itself. */
export type ConnectionLane = WorkKind | 'process'

type OnConnect = (error: Error | undefined, client?: PoolClient, done?: (release?: unknown) => void) => void

/** Parts of the connections, which leave a part for others however many requests one tenant sends. */
const TENANT_PART = 0.4
const READ_PART = 0.3
const TENANT_READ_PART = 0.1
/** Two, so that one slow read of a tenant does not stop its others. */
const MIN_TENANT_READS = 2
const RESERVE_PART = 0.1
/** Below this number of connections there are no reserves, which would leave none to share. */
const MIN_RESERVING = 5
const MAX_WAITING = 4_000

/** How the connections of a pool are divided. */
export const connectionShares = (connections: number): FairQueueOptions<ConnectionLane> => {
  const part = (share: number): number => Math.max(1, Math.round(connections * share))
  const reserved = connections < MIN_RESERVING ? 0 : part(RESERVE_PART)
  const reads = part(READ_PART)
  return {
    what: 'database queries',
    capacity: connections,
    perTenant: part(TENANT_PART),
    lanes: {
      'sign-in': { reserved },
      ingestion: { reserved },
      process: { reserved },
      general: {},
      // The filters of a client decide how long a read takes, and its statement keeps a core of the server busy.
      read: { max: reads, perTenant: Math.min(reads, Math.max(MIN_TENANT_READS, part(TENANT_READ_PART))) },
    },
    maxWaiting: MAX_WAITING,
  }
}

/**
 * A pool whose connections are divided among the owners of the current work. `connect`, `query` and Prisma all wait in
 * its queue, and throw its errors: AppError rate_limited or overloaded.
 */
export class FairPool extends Pool {
  readonly #queue
  readonly #units = new WeakMap<PoolClient, Release>()
  #waiting = 0

  constructor(config: PoolConfig & { max: number }) {
    super(config)
    this.#queue = createFairQueue(connectionShares(config.max))
    this.on('release', (_error, client) => {
      const release = this.#units.get(client)
      this.#units.delete(client)
      release?.()
    })
  }

  /** Callers that wait for their turn. */
  waitingTurns(): number {
    return this.#waiting
  }

  override connect(): Promise<PoolClient>
  override connect(callback: OnConnect): void
  override connect(callback?: OnConnect): Promise<PoolClient> | undefined {
    const connecting = this.#connectInTurn()
    if (!callback) return connecting
    connecting.then(
      (client) => callback(undefined, client, (error) => client.release(error as Error | undefined)),
      (error) => callback(error),
    )
    return undefined
  }

  async #connectInTurn(): Promise<PoolClient> {
    const release = await this.#takeTurn()
    try {
      const client = await super.connect()
      this.#units.set(client, release)
      return client
    } catch (error) {
      release()
      throw error
    }
  }

  async #takeTurn(): Promise<Release> {
    const work = currentWork()
    const lane = work?.kind ?? 'process'
    const free = this.#queue.tryAcquire(work?.owner, { lane })
    if (free) return free
    this.#waiting++
    try {
      return await this.#queue.acquire(work?.owner, { lane })
    } finally {
      this.#waiting--
    }
  }
}
