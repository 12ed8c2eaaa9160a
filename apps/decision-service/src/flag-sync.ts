import { AppError } from '@waymark/contracts/app-error'
import { createFairQueue, ownerOfProject } from '@waymark/domain/fairness'
import type { ApiKey } from '@waymark/project-config'
import {
  allowApiKey,
  type Config,
  type CorePlatform,
  everyMs,
  keyInHeaders,
  type LimitRequests,
  LoopTurns,
} from '@waymark/service-kit'
import { Counter, Gauge } from 'prom-client'
import type { flagStreamConfig } from './config.ts'
import type { FlagDocument, ReadFlagDocument } from './flag-documents.ts'
import { lengthDelimited, messageFrame, textsIn } from './grpc-messages.ts'
import { type GrpcCall, type GrpcReply, grpcStatus } from './grpc-server.ts'

type Reader = { key: string; apiKey: ApiKey }
type Stream = { reply: GrpcReply; reader: Reader; sent?: FlagDocument; sentAt: number }
/** The streams of an environment. */
type Group = { projectId: string; environment: string; streams: Set<Stream> }

type FlagSyncDeps = Pick<CorePlatform, 'apiKeys' | 'steadyClock' | 'metrics'> & {
  readDocument: ReadFlagDocument
  limitRequests: LimitRequests
  /** Notes that somebody evaluates a decision, elsewhere. */
  noteEvaluated: (decisionId: string) => void
  limits: Pick<Config<typeof flagStreamConfig>, 'syncTotal' | 'syncPerProject' | 'syncPerKey'>
}

/** Interval of looking for changed flags, in ms. */
const LOOK_MS = 250
/** Interval of checks whether readers are still authorized, in ms. */
const CHECK_MS = 3_000
/** A client that has not accepted a document after this time is cut off, in ms. */
const ACCEPT_MS = 60_000
/** A tenant has at most this part of the places, or those of a project. */
const TENANT_PART = 4
const RETRY_AFTER_S = 60

const SERVICE = '/flagd.sync.v1.FlagSyncService/'
/** The field `selector` of the requests. */
const SELECTOR = 2
/** The field `metadata` of the answer of `GetMetadata`: an empty struct, so that no context is added to evaluations. */
const METADATA = 2
const NO_METADATA = messageFrame(lengthDelimited(METADATA, Buffer.alloc(0)))

/** @throws AppError forbidden for a key that browsers may hold: rules of flags may name people */
export const requireServerKey = ({ kind }: Pick<ApiKey, 'kind'>): void => {
  if (kind !== 'sec')
    throw new AppError('forbidden', 'Only a key of kind sec may read the rules of flags', {
      requiredKind: 'sec',
    })
}

/** flagd's sync protocol (`flagd.sync.v1`): the methods of gRPC, and the loop that sends changes. */
export const createFlagSync = ({
  apiKeys,
  readDocument,
  limitRequests,
  noteEvaluated,
  limits,
  metrics,
  steadyClock: now,
}: FlagSyncDeps) => {
  const groups = new Map<string, Group>()
  const streamsOfKeys = new Map<string, number>()
  const places = createFairQueue({
    what: 'streams of flag definitions',
    capacity: limits.syncTotal,
    perTenant: Math.max(limits.syncPerProject, Math.ceil(limits.syncTotal / TENANT_PART)),
    lanes: { default: { perProject: limits.syncPerProject } },
    retryAfterSeconds: RETRY_AFTER_S,
    advice: 'FLAG_SYNC_STREAMS_PER_PROJECT and FLAG_SYNC_STREAMS set the limits. Poll over HTTP instead',
  })
  const sent = measure(metrics, () =>
    [...groups.values()].reduce((sum, { streams }) => sum + streams.size, 0),
  )
  let checkedAt = now()

  const authenticate = async ({ metadata, message, ip }: GrpcCall): Promise<Reader> => {
    const key = keyOfCall(metadata, message)
    const apiKey = await allowApiKey(apiKeys, 'decide', { headers: {} }, key)
    requireServerKey(apiKey)
    await limitRequests(apiKey, { ip, replyHeaders: {} })
    return { key, apiKey }
  }

  const takePlace = ({ apiKey: { id, projectId } }: Reader, reply: GrpcReply): (() => void) => {
    const ofKey = streamsOfKeys.get(id) ?? 0
    if (ofKey >= limits.syncPerKey)
      throw new AppError(
        'rate_limited',
        `The API key has ${limits.syncPerKey} streams, as many as FLAG_SYNC_STREAMS_PER_KEY allows`,
      )
    const release = places.acquireNow(ownerOfProject(projectId), {
      onReclaim: () => reply.end(grpcStatus.unavailable, 'Others need the stream'),
    })
    streamsOfKeys.set(id, ofKey + 1)
    return () => {
      release()
      const left = (streamsOfKeys.get(id) ?? 1) - 1
      if (left === 0) streamsOfKeys.delete(id)
      else streamsOfKeys.set(id, left)
    }
  }

  const send = (stream: Stream, document: FlagDocument): void => {
    stream.sent = document
    stream.sentAt = now()
    stream.reply.send(document.message)
    sent.inc()
  }

  const follow = (reader: Reader, reply: GrpcReply, document: FlagDocument): void => {
    const { projectId, environment } = reader.apiKey
    const key = `${projectId}:${environment}`
    const group = groups.get(key) ?? { projectId, environment, streams: new Set() }
    groups.set(key, group)
    const stream: Stream = { reply, reader, sentAt: now() }
    group.streams.add(stream)
    reply.onClose(() => {
      group.streams.delete(stream)
      if (group.streams.size === 0 && groups.get(key) === group) groups.delete(key)
    })
    send(stream, document)
  }

  const announce = async ({ projectId, environment, streams }: Group): Promise<void> => {
    // A failed read is logged by the cache, and repeated at the next look.
    const document = await readDocument(projectId, environment).catch(() => undefined)
    if (document === undefined) return
    const turns = new LoopTurns()
    for (const stream of streams) {
      if (turns.isOver()) await turns.next()
      // A client that is behind gets the newest document once it has accepted the one before.
      if (stream.reply.waiting > 0) {
        if (now() - stream.sentAt >= ACCEPT_MS) stream.reply.destroy()
      } else if (stream.sent !== document) send(stream, document)
    }
  }

  const checkReaders = async (): Promise<void> => {
    const answers = new Map<string, Promise<boolean>>()
    const turns = new LoopTurns()
    for (const { streams } of groups.values())
      for (const { reader, reply, sent: document } of streams) {
        if (turns.isOver()) await turns.next()
        const answer = answers.get(reader.key) ?? isAllowed(reader.key)
        if (!answers.has(reader.key)) for (const id of document?.decisionIds ?? []) noteEvaluated(id)
        answers.set(reader.key, answer)
        if (!(await answer)) reply.end(grpcStatus.unauthenticated, 'The key is not valid any more')
      }
  }

  const isAllowed = async (key: string): Promise<boolean> => {
    try {
      await allowApiKey(apiKeys, 'decide', { headers: {} }, key)
      return true
    } catch (error) {
      // A store that does not answer does not end the stream.
      return !(error instanceof AppError && (error.code === 'unauthorized' || error.code === 'forbidden'))
    }
  }

  const look = async (): Promise<void> => {
    await Promise.all([...groups.values()].map(announce))
    if (now() - checkedAt < CHECK_MS) return
    checkedAt = now()
    await checkReaders()
  }

  const documentFor = async ({ apiKey: { projectId, environment } }: Reader): Promise<FlagDocument> => {
    const document = await readDocument(projectId, environment)
    for (const id of document.decisionIds) noteEvaluated(id)
    return document
  }

  return {
    methods: new Map([
      [
        `${SERVICE}SyncFlags`,
        async (call: GrpcCall, reply: GrpcReply): Promise<void> => {
          const reader = await authenticate(call)
          reply.onClose(takePlace(reader, reply))
          follow(reader, reply, await documentFor(reader))
        },
      ],
      [
        `${SERVICE}FetchAllFlags`,
        async (call: GrpcCall, reply: GrpcReply): Promise<void> => {
          reply.send((await documentFor(await authenticate(call))).message)
          reply.end()
        },
      ],
      [
        `${SERVICE}GetMetadata`,
        // Without a key: it is the same for all, and providers send no selector with it.
        async (_call: GrpcCall, reply: GrpcReply): Promise<void> => {
          reply.send(NO_METADATA)
          reply.end()
        },
      ],
    ]),
    loop: everyMs('flag-sync', LOOK_MS, look),
  }
}

/** The key of a call: in its metadata, else its selector, since some providers send nothing else. Empty without one. */
const keyOfCall = (metadata: GrpcCall['metadata'], message: Buffer): string => {
  const { 'flagd-selector': selector } = metadata
  return (
    keyInHeaders({ headers: metadata }) ?? (typeof selector === 'string' ? selector : selectorIn(message))
  )
}

const selectorIn = (message: Buffer): string => {
  try {
    return textsIn(message).get(SELECTOR) ?? ''
  } catch (error) {
    throw new AppError('bad_request', (error as Error).message)
  }
}

/** Reports the number of streams. Returns the counter of sent documents. */
const measure = (metrics: CorePlatform['metrics'], open: () => number): Counter => {
  new Gauge({
    name: 'waymark_flag_sync_streams',
    help: 'Open streams of flag definitions',
    registers: [metrics],
    collect() {
      this.set(open())
    },
  })
  return new Counter({
    name: 'waymark_flag_sync_documents_total',
    help: 'Flag definitions that were sent to streams',
    registers: [metrics],
  })
}
