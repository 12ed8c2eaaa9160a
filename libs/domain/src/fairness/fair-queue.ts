import { AppError } from '@waymark/contracts/app-error'
import { MAX_TURN_WAIT_MS } from '@waymark/contracts/request-budget'
import { currentWork, type WorkOwner } from './current-work.ts'

/** The share of a kind of work. Counts are in units of the capacity. */
export type Lane = {
  /** Units that no other lane may use; default 0. */
  reserved?: number
  /** Most units of the lane; default: the capacity. */
  max?: number
  /** Most units of one tenant in the lane; default: `max`. */
  perTenant?: number
  /** Most units of one project in the lane; default: `perTenant`. */
  perProject?: number
}

export type FairQueueOptions<Name extends string = 'default'> = {
  /** What runs, for error messages, such as `password checks`. */
  what: string
  /** Pieces of work that run at once. */
  capacity: number
  /** Most units of one tenant in all lanes together; default: the capacity. */
  perTenant?: number
  /** Kinds of work; by default one, `default`. */
  lanes?: Record<Name, Lane>
  /** Most waiting pieces of all owners, beyond which work is refused with `overloaded`; default 1000. */
  maxWaiting?: number
  /** Most waiting pieces of one tenant, beyond which its work is refused with `rate_limited`; default: half of them. */
  maxWaitingPerTenant?: number
  /** How long work waits, in ms, unless its request has its own wait; default 4000, below the deadline of a request. */
  maxWaitMs?: number
  /** When a refused client may try again, in s; default 2. */
  retryAfterSeconds?: number
  /** What a refused client can do, at the end of the message; default: repeat it. */
  advice?: string
}

type AcquireOptions<Name extends string> = {
  lane?: Name
  signal?: AbortSignal | undefined
  /** How long it waits, in ms. Default: as long as its request says, or else the queue. */
  maxWaitMs?: number
  /** Waits as long as it takes, for work whose caller bounds how much of it there is, such as a consumer. */
  patient?: boolean
  /** As in `TryOptions`. */
  onReclaim?: (() => void) | undefined
}

type TryOptions<Name extends string> = {
  lane?: Name
  /**
   * Ends the use when all units are in use and a tenant that holds fewer asks for one. The holder must then call its
   * `Release`.
   */
  onReclaim?: (() => void) | undefined
}

/** Ends the use of a unit. Further calls do nothing. */
export type Release = () => void

/** Divides a scarce resource fairly; see `createFairQueue`. */
export type FairQueue<Name extends string = 'default'> = {
  /**
   * Waits for a unit. Call the result when the work has ended.
   * @throws AppError rate_limited when the owner's share is used up, or overloaded when all is; the signal's reason
   */
  acquire(owner: WorkOwner | undefined, options?: AcquireOptions<Name>): Promise<Release>
  /** Takes a unit that is free for the owner now; undefined when there is none. */
  tryAcquire(owner: WorkOwner | undefined, options?: TryOptions<Name>): Release | undefined
  /** As `tryAcquire`. @throws AppError rate_limited or overloaded when there is none */
  acquireNow(owner: WorkOwner | undefined, options?: TryOptions<Name>): Release
  /** Runs work in its turn. @throws as `acquire`, and what the work throws */
  run<T>(owner: WorkOwner | undefined, work: () => Promise<T>, options?: AcquireOptions<Name>): Promise<T>
  /** Resolves when all work has ended, which includes the waiting. Later work is refused with `overloaded`. */
  close(): Promise<void>
}

const MAX_WAITING = 1_000
const RETRY_AFTER_S = 2

type Waiting = { projectId: string; start(release: Release): void }
/** The waiting work of a tenant: its projects in the order of their turns. */
type Turns = Map<string, Waiting[]>

/**
 * A queue in front of a scarce resource. Lanes take turns, then tenants in a lane, then projects of a tenant, so that
 * work waits for what other owners have running, and not for what they have queued. A lane's reserve is never used by
 * others, and no owner holds more than its share.
 */
export const createFairQueue = <Name extends string = 'default'>(
  options: FairQueueOptions<Name>,
): FairQueue<Name> => {
  const { capacity, maxWaiting = MAX_WAITING, maxWaitMs = MAX_TURN_WAIT_MS } = options
  const { maxWaitingPerTenant = Math.ceil(maxWaiting / 2) } = options
  const shares = createShares(options)
  const lanes = new Map<Name, Map<string, Turns>>(shares.names.map((name) => [name, new Map()]))
  const waitingOf = createCounts()
  const holders = createHolders()
  const [defaultLane] = shares.names
  let closing = false
  let onIdle: (() => void) | undefined

  const take = (lane: Name, owner: WorkOwner | undefined): Release => {
    const giveBack = shares.take(lane, owner)
    let released = false
    return () => {
      if (released) return
      released = true
      giveBack()
      startNext()
      if (shares.running() === 0 && waitingOf.total() === 0) onIdle?.()
    }
  }

  /** Starts the next piece of a lane that may run. Returns whether there was one. */
  const startOneOf = (lane: Name, tenants: Map<string, Turns>): boolean => {
    if (!shares.hasRoom(lane)) return false
    for (const [tenantId, turns] of tenants) {
      const found = nextOf(turns, (projectId) => shares.allows(lane, { tenantId, projectId }))
      if (!found) continue
      rotate(tenants, tenantId, turns.size > 0 ? turns : undefined)
      found.start(take(lane, ownerOf(tenantId, found.projectId)))
      return true
    }
    return false
  }

  const startNext = (): void => {
    for (let started = true; started && shares.running() < capacity; ) {
      started = false
      for (const [lane, tenants] of [...lanes]) {
        if (tenants.size === 0 || !startOneOf(lane, tenants)) continue
        rotate(lanes, lane, tenants)
        started = true
      }
    }
  }

  const refusal = (lane: Name, owner: WorkOwner | undefined, hasTooMuchWaiting = false): AppError => {
    const retryAfterSeconds = options.retryAfterSeconds ?? RETRY_AFTER_S
    const { what } = options
    const ownLimit = hasTooMuchWaiting
      ? `${maxWaitingPerTenant} ${what} of this tenant wait, as many as one tenant may have waiting`
      : shares.limitOf(lane, owner, what)
    return new AppError(
      ownLimit === undefined ? 'overloaded' : 'rate_limited',
      `${ownLimit ?? `${capacity} ${what} are running, as many as one process may run`}; ` +
        (options.advice ?? `repeat this in ${retryAfterSeconds} seconds`),
      { retryAfterSeconds },
    )
  }

  /** @throws AppError when no more work of the owner may wait */
  const requireRoomToWait = (lane: Name, owner: WorkOwner | undefined): void => {
    if (!owner) return
    if (waitingOf.total() >= maxWaiting) throw refusal(lane, owner)
    if (waitingOf.of(owner.tenantId) >= maxWaitingPerTenant) throw refusal(lane, owner, true)
  }

  const tryAcquire: FairQueue<Name>['tryAcquire'] = (owner, { lane = defaultLane, onReclaim } = {}) => {
    if (lane === undefined || closing || !shares.allows(lane, owner)) return undefined
    if (!shares.hasRoom(lane)) holders.reclaimFor(owner)
    if (!shares.hasRoom(lane)) return undefined
    const release = take(lane, owner)
    return owner && onReclaim ? holders.add(owner.tenantId, release, onReclaim) : release
  }

  const acquireNow: FairQueue<Name>['acquireNow'] = (owner, tryOptions = {}) => {
    const release = tryAcquire(owner, tryOptions)
    if (!release) throw refusal(tryOptions.lane ?? (defaultLane as Name), owner)
    return release
  }

  const wait = (
    lane: Name,
    owner: WorkOwner | undefined,
    { signal, patient = false, maxWaitMs: ownWaitMs }: AcquireOptions<Name>,
  ): Promise<Release> =>
    new Promise((resolve, reject) => {
      const { tenantId, projectId } = owner ?? PROCESS
      const leave = (error: unknown): void => {
        ended()
        remove(lanes.get(lane), tenantId, entry)
        reject(error)
      }
      const onAbort = (): void => leave(signal?.reason)
      const waitMs = ownWaitMs ?? currentWork()?.maxTurnWaitMs ?? maxWaitMs
      const timer = patient ? undefined : setTimeout(() => leave(refusal(lane, owner)), waitMs)
      const leaveCount = waitingOf.add(tenantId)
      const ended = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', onAbort)
        leaveCount()
      }
      const entry: Waiting = {
        projectId,
        start: (release) => {
          ended()
          resolve(release)
        },
      }
      signal?.addEventListener('abort', onAbort)
      append(lanes.get(lane), tenantId, entry)
    })

  const acquire: FairQueue<Name>['acquire'] = async (owner, acquireOptions = {}) => {
    const { lane = defaultLane, signal, patient, onReclaim } = acquireOptions
    signal?.throwIfAborted()
    if (lane === undefined || closing)
      throw new AppError('overloaded', 'The process is stopping', { retryAfterSeconds: RETRY_AFTER_S })
    const free = tryAcquire(owner, { lane, onReclaim })
    if (free) return free
    if (!patient) requireRoomToWait(lane, owner)
    const release = await wait(lane, owner, acquireOptions)
    return owner && onReclaim ? holders.add(owner.tenantId, release, onReclaim) : release
  }

  return {
    acquire,
    acquireNow,
    tryAcquire,
    run: async (owner, work, acquireOptions) => {
      const release = await acquire(owner, acquireOptions)
      try {
        return await work()
      } finally {
        release()
      }
    },
    close: async () => {
      closing = true
      if (shares.running() > 0 || waitingOf.total() > 0)
        await new Promise<void>((resolve) => {
          onIdle = resolve
        })
    },
  }
}

/** Work of the process takes its turns as a tenant without a limit. */
const PROCESS: WorkOwner = { tenantId: '', projectId: '' }

const ownerOf = (tenantId: string, projectId: string): WorkOwner | undefined =>
  tenantId === PROCESS.tenantId ? undefined : { tenantId, projectId }

/** Counts what runs, by lane, tenant and project, and knows what more may run. */
const createShares = <Name extends string>({
  capacity,
  perTenant = capacity,
  lanes = { default: {} } as Record<Name, Lane>,
}: FairQueueOptions<Name>) => {
  const names = Object.keys(lanes) as Name[]
  const ofLanes = createCounts()
  const ofTenants = createCounts()
  const inLanes = createCounts()

  /** Reserved units that lanes other than this one do not use at present. */
  const reservedBeside = (lane: Name): number =>
    names.reduce(
      (sum, other) =>
        other === lane ? sum : sum + Math.max(0, (lanes[other].reserved ?? 0) - ofLanes.of(other)),
      0,
    )

  /** The limit that the owner has reached, as a text; undefined when it may have more. */
  const limitOf = (lane: Name, owner: WorkOwner | undefined, what: string): string | undefined => {
    if (!owner || owner.tenantId === PROCESS.tenantId) return undefined
    const { max = capacity, perTenant: tenantShare = max, perProject = tenantShare } = lanes[lane]
    const tenantInLane = `${lane} ${owner.tenantId}`
    const ofProject = inLanes.of(`${tenantInLane} ${owner.projectId}`)
    if (ofProject >= perProject)
      return `This project has ${ofProject} ${what} running, as many as one project may`
    if (ofTenants.of(owner.tenantId) < perTenant && inLanes.of(tenantInLane) < tenantShare) return undefined
    const held = Math.max(inLanes.of(tenantInLane), Math.min(perTenant, ofTenants.of(owner.tenantId)))
    return `The projects of this tenant have ${held} ${what} running, as many as one tenant may`
  }

  return {
    names,
    running: (): number => ofLanes.total(),

    /** Whether the lane may run one more piece, whoever owns it. */
    hasRoom: (lane: Name): boolean =>
      ofLanes.of(lane) < (lanes[lane].max ?? capacity) && ofLanes.total() + reservedBeside(lane) < capacity,

    /** Whether the owner holds less than its share. */
    allows: (lane: Name, owner: WorkOwner | undefined): boolean => limitOf(lane, owner, '') === undefined,
    limitOf,

    /** Counts a piece that starts. Call the result when it ends. */
    take: (lane: Name, owner: WorkOwner | undefined): (() => void) => {
      const { tenantId, projectId } = owner ?? PROCESS
      const ends = [
        ofLanes.add(lane),
        ofTenants.add(tenantId),
        inLanes.add(`${lane} ${tenantId}`),
        inLanes.add(`${lane} ${tenantId} ${projectId}`),
      ]
      return () => {
        for (const end of ends) end()
      }
    },
  }
}

type Holder = { release: Release; onReclaim: () => void }

/** Units that can be taken back, by tenant. */
const createHolders = () => {
  const tenants = new Map<string, Set<Holder>>()
  const held = (tenantId: string): number => tenants.get(tenantId)?.size ?? 0
  const leave = (tenantId: string, holder: Holder): void => {
    const holders = tenants.get(tenantId)
    holders?.delete(holder)
    if (holders?.size === 0) tenants.delete(tenantId)
  }
  return {
    /** Remembers a unit. Returns its release. */
    add: (tenantId: string, release: Release, onReclaim: () => void): Release => {
      const holder = { release, onReclaim }
      const holders = tenants.get(tenantId) ?? new Set()
      tenants.set(tenantId, holders.add(holder))
      return () => {
        leave(tenantId, holder)
        release()
      }
    },

    /** Takes the latest unit of the tenant that holds most, if that leaves it no less than the owner then has. */
    reclaimFor: (owner: WorkOwner | undefined): void => {
      if (!owner) return
      let most = owner.tenantId
      for (const tenantId of tenants.keys()) if (held(tenantId) > held(most)) most = tenantId
      const latest = [...(tenants.get(most) ?? [])].at(-1)
      if (!latest || held(most) < held(owner.tenantId) + 2) return
      leave(most, latest)
      latest.release()
      latest.onReclaim()
    },
  }
}

const createCounts = () => {
  const counts = new Map<string, number>()
  let total = 0
  return {
    total: (): number => total,
    of: (key: string): number => counts.get(key) ?? 0,
    /** Counts one more until the result is called. */
    add: (key: string): (() => void) => {
      counts.set(key, (counts.get(key) ?? 0) + 1)
      total++
      return () => {
        const left = (counts.get(key) ?? 1) - 1
        if (left > 0) counts.set(key, left)
        else counts.delete(key)
        total--
      }
    },
  }
}

/** Takes the next piece of the first project that may run, whose next turn comes after those of the other projects. */
const nextOf = (turns: Turns, allows: (projectId: string) => boolean): Waiting | undefined => {
  for (const [projectId, pieces] of turns) {
    if (!allows(projectId)) continue
    const next = pieces.shift()
    rotate(turns, projectId, pieces.length > 0 ? pieces : undefined)
    return next
  }
  return undefined
}

/** Moves an entry to the end of a map, or removes it without a value. */
const rotate = <K, V>(map: Map<K, V>, key: K, value: V | undefined): void => {
  map.delete(key)
  if (value !== undefined) map.set(key, value)
}

const append = (tenants: Map<string, Turns> | undefined, tenantId: string, entry: Waiting): void => {
  const turns: Turns = tenants?.get(tenantId) ?? new Map()
  const pieces = turns.get(entry.projectId) ?? []
  pieces.push(entry)
  turns.set(entry.projectId, pieces)
  tenants?.set(tenantId, turns)
}

const remove = (tenants: Map<string, Turns> | undefined, tenantId: string, entry: Waiting): void => {
  const turns = tenants?.get(tenantId)
  const pieces = turns?.get(entry.projectId)
  const index = pieces?.indexOf(entry) ?? -1
  if (index >= 0) pieces?.splice(index, 1)
  if (pieces?.length === 0) turns?.delete(entry.projectId)
  if (turns?.size === 0) tenants?.delete(tenantId)
}
