import { createFairQueue, ownerOfProject } from '@waymark/domain/fairness'
import type { ProjectConfigs } from '@waymark/project-config'
import { type Config, type CorePlatform, everyMs, LoopTurns } from '@waymark/service-kit'
import { LRUCache } from 'lru-cache'
import { Counter, Gauge } from 'prom-client'
import type { flagStreamConfig } from './config.ts'
import { flagsVersionOf } from './flags-version.ts'

/** What a stream is written to: the response. */
export type StreamClient = {
  write: (text: string) => unknown
  end: () => unknown
  destroy: () => unknown
  /** Bytes that wait in this process until the client accepts them. */
  readonly writableLength: number
}

/** Who reads a stream. Readers with the same id are checked together. */
export type Reader = { id: string; isAllowed: () => Promise<boolean> }

/** The flags of a project, as this process knows them. */
type FlagsState = {
  version: string
  /** When this process first saw them, in ms by the steady clock. */
  since: number
  /** The same in seconds since the epoch. */
  lastModified: number
}

type Stream = { client: StreamClient; reader: Reader; sentAt: number; leave: () => void }
type ProjectStreams = { streams: Set<Stream>; announced: string }

type FlagStreamDeps = Pick<CorePlatform, 'clock' | 'steadyClock' | 'metrics'> & {
  configChanges: Pick<CorePlatform['configChanges'], 'catchUp'>
  projectConfigs: ProjectConfigs
  limits: Pick<Config<typeof flagStreamConfig>, 'total' | 'perProject' | 'heartbeatMs'>
  random?: () => number
}

/** Interval of looking for changed flags, in ms. */
const LOOK_MS = 250
/** Interval of checks whether readers are still authorized, in ms. A process knows of a revoked key after a second. */
const CHECK_MS = 3_000
/** A client that has this many bytes to accept is cut off. An event has about 150. */
const MAX_WAITING_BYTES = 4_096
/** When a browser reconnects, in ms, spread so that the clients of a stopped process do not return at the same time. */
const RETRY_MS = { min: 1_000, spread: 4_000 }
/** A client without `Last-Event-ID` may have missed changes that are younger than this, in ms. */
const SETTLED_MS = 60_000
/** A tenant has at most this part of the places, or those of a project. */
const TENANT_PART = 4
/** Projects whose state is known. */
const MAX_STATES = 10_000
const RETRY_AFTER_S = 60

/** Tells clients that flags of their project have changed, as server-sent events. */
export const createFlagStreams = ({
  projectConfigs,
  configChanges,
  limits,
  metrics,
  clock,
  steadyClock: now,
  random = Math.random,
}: FlagStreamDeps) => {
  const projects = new Map<string, ProjectStreams>()
  const states = new LRUCache<string, FlagsState>({ max: MAX_STATES })
  const places = createFairQueue({
    what: 'streams of changed flags',
    capacity: limits.total,
    perTenant: Math.max(limits.perProject, Math.ceil(limits.total / TENANT_PART)),
    lanes: { default: { perProject: limits.perProject } },
    retryAfterSeconds: RETRY_AFTER_S,
    advice: 'FLAG_STREAMS_PER_PROJECT and FLAG_STREAMS set the limits. Poll with If-None-Match instead',
  })
  let total = 0
  let checkedAt = now()
  const sent = measure(metrics, () => total)

  const currentState = async (projectId: string): Promise<FlagsState> => {
    const { decisions } = await projectConfigs.get(projectId)
    const version = flagsVersionOf(decisions, clock())
    const known = states.get(projectId)
    if (known?.version === version) return known
    const state = { version, since: now(), lastModified: Math.floor(clock() / 1_000) }
    states.set(projectId, state)
    return state
  }

  /** Disconnects a client that does not read. */
  const cutOff = ({ client, leave }: Stream): void => {
    leave()
    client.destroy()
  }

  const announce = async (projectId: string, project: ProjectStreams): Promise<void> => {
    // A failed read is logged by the cache, and repeated at the next look.
    const state = await currentState(projectId).catch(() => undefined)
    if (state === undefined || state.version === project.announced) return
    project.announced = state.version
    const event = eventOf(state)
    await forEachStream([project], (stream) => {
      if (stream.client.writableLength > MAX_WAITING_BYTES) {
        cutOff(stream)
      } else {
        stream.client.write(event)
        stream.sentAt = now()
        sent.inc()
      }
    })
  }

  const keepAlive = (stream: Stream): void => {
    const { client, sentAt } = stream
    if (now() - sentAt < limits.heartbeatMs) return
    // It has accepted nothing since the last write.
    if (client.writableLength > 0) {
      cutOff(stream)
    } else {
      client.write(': alive\n\n')
      stream.sentAt = now()
    }
  }

  const checkReaders = async (): Promise<void> => {
    const answers = new Map<string, Promise<boolean>>()
    await forEachStream(projects.values(), async ({ reader, client, leave }) => {
      const answer = answers.get(reader.id) ?? reader.isAllowed()
      answers.set(reader.id, answer)
      if (await answer) return
      leave()
      client.end()
    })
  }

  const look = async (): Promise<void> => {
    await Promise.all([...projects].map(([projectId, project]) => announce(projectId, project)))
    await forEachStream(projects.values(), keepAlive)
    if (now() - checkedAt < CHECK_MS) return
    checkedAt = now()
    await checkReaders()
  }

  return {
    /**
     * Takes a place for a stream of a project. Call the result when the stream has ended.
     * @param end ends the stream, for a tenant that has fewer
     * @throws AppError rate_limited or overloaded when all places are taken
     */
    takePlace: (projectId: string, end: () => void): (() => void) => {
      const release = places.acquireNow(ownerOfProject(projectId), { onReclaim: end })
      total++
      return () => {
        total--
        release()
      }
    },

    /** The flags of a project. @throws AppError store_unavailable when its configuration cannot be read */
    currentState,

    /**
     * Begins a stream. It sends at once what the client missed since the event with the id `lastEventId`, or may have missed
     * since it evaluated the flags.
     * @param state the result of `currentState`
     */
    follow: (
      projectId: string,
      client: StreamClient,
      { state, lastEventId, reader }: { state: FlagsState; lastEventId?: string | undefined; reader: Reader },
    ): { leave: () => void; end: () => void } => {
      // Newer than `state` if it has changed since.
      const latest = states.get(projectId) ?? state
      const project = projects.get(projectId) ?? { streams: new Set(), announced: latest.version }
      projects.set(projectId, project)
      const leave = (): void => {
        project.streams.delete(stream)
        if (project.streams.size === 0 && projects.get(projectId) === project) projects.delete(projectId)
      }
      const stream: Stream = { client, reader, sentAt: now(), leave }
      project.streams.add(stream)
      const isTold = lastEventId ? lastEventId !== latest.version : now() - latest.since < SETTLED_MS
      const retry = RETRY_MS.min + Math.floor(random() * RETRY_MS.spread)
      client.write(`retry: ${retry}\n${isTold ? eventOf(latest) : `id: ${latest.version}\n: connected\n\n`}`)
      if (isTold) sent.inc()
      return {
        leave,
        end: () => {
          leave()
          client.end()
        },
      }
    },

    /** Waits for changes that another process knows and this one may not: `etag` is of its event. At most a second. */
    catchUp: async (projectId: string, etag: string): Promise<void> => {
      if (etagOf((await currentState(projectId)).version) !== etag) await configChanges.catchUp()
    },

    /** Tells changes, keeps connections alive, and ends the streams of readers who have lost access. */
    loop: everyMs('flag-streams', LOOK_MS, look),
  }
}

export type FlagStreams = ReturnType<typeof createFlagStreams>

/** Calls `work` for each stream, and lets other requests be answered in between. */
const forEachStream = async (
  projects: Iterable<ProjectStreams>,
  work: (stream: Stream) => void | Promise<void>,
): Promise<void> => {
  const turns = new LoopTurns()
  for (const { streams } of projects) {
    for (const stream of streams) {
      if (turns.isOver()) await turns.next()
      const done: unknown = work(stream)
      if (done instanceof Promise) await done
    }
  }
}

const etagOf = (version: string): string => `"${version}"`

/** The event of the protocol that has a client evaluate its flags again. */
const eventOf = ({ version, lastModified }: FlagsState): string => {
  const data = { type: 'refetchEvaluation', etag: etagOf(version), lastModified }
  return `id: ${version}\nevent: message\ndata: ${JSON.stringify(data)}\n\n`
}

/** Reports the number of streams. Returns the counter of sent events. */
const measure = (metrics: CorePlatform['metrics'], open: () => number): Counter => {
  new Gauge({
    name: 'waymark_flag_streams',
    help: 'Open streams of changed flags',
    registers: [metrics],
    collect() {
      this.set(open())
    },
  })
  return new Counter({
    name: 'waymark_flag_stream_events_total',
    help: 'Events that notified a client of changed flags',
    registers: [metrics],
  })
}
