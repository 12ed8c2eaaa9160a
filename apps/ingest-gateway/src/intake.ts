import { randomUUID } from 'node:crypto'
import type { Cache } from '@waymark/cache'
import { AppError } from '@waymark/contracts/app-error'
import { MAX_EVENT_BYTES } from '@waymark/contracts/http/track-request'
import type { EventErrors, InvalidEvent, ValidationItem } from '@waymark/contracts/http/track-result'
import type { ValidationMode } from '@waymark/contracts/project-settings'
import type { AcceptedEvent, ClientDevice, IngestRecord } from '@waymark/contracts/records/ingest-record'
import type { RejectedEvent } from '@waymark/contracts/records/quarantine-records'
import { hasVisibleCharacter } from '@waymark/contracts/validator'
import { validateEvent, validationModeOf } from '@waymark/domain/catalog'
import { conversionsOf, meterEvent } from '@waymark/domain/conversion'
import { isAppAgent } from '@waymark/domain/enrichment'
import {
  type AcceptanceContext,
  acceptEvent,
  ingestRecordOf,
  isMissingId,
  type SentAt,
  sampleOf,
} from '@waymark/domain/ingestion'
import { WorkBudget } from '@waymark/domain/logic'
import type { ProjectConfig, ProjectConfigs } from '@waymark/project-config'
import { LoopTurns } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'

/** The events of one request as the client sent them, and its send time if it gave one. */
export type TrackRequest = SentAt & {
  rawEvents: readonly unknown[]
  /** For events that are read from messages of another protocol, by their indexes: see `MessageDetails`. */
  messages?: readonly MessageDetails[]
  /** What the intake quarantines of messages, read after all events were checked. */
  refused?: () => readonly RejectedEvent[]
}

/** What a message says beside its event. Events with it never fail their request: those refused are quarantined. */
export type MessageDetails = SentAt & {
  client: ClientDevice
  /** Properties from its context, which no definition is about. Those of the event win. */
  contextProperties: Record<string, unknown>
  /** Called when the event is refused; it then belongs to `refused`. */
  refuse: (problem: ValidationItem) => void
}

/** The sender of events, as known from the API key and the connection. */
export type Sender = {
  projectId: string
  /** The key's own mode; null uses the project's. */
  validationMode: ValidationMode | null
  /** Whether events may name the IP address and user agent of another device; browsers may not. */
  speaksForOthers: boolean
  /** Whether it is an app: it has a key of kind `pub` and, unlike a page, no origin. */
  isApp?: boolean
  ip: string | null
  userAgent: string | null
}

/** A request's events, sorted into accepted, rejected by `enforce` and invalid, with the problems of each. */
export type Intake = {
  records: IngestRecord[]
  /** Their indexes in the request. */
  indexes: number[]
  rejected: RejectedEvent[]
  /** Events that are not accepted: structurally invalid or rejected. */
  invalid: InvalidEvent[]
  /** All errors and warnings. */
  problems: EventErrors[]
  /** The ids generated for events without one, in order, and the cache key that they are kept under. */
  generatedIds: { name: string; ids: string[] } | undefined
}

/** Properties of a request beside its events. */
export type IntakeOptions = {
  bodyBytes: number
  /** Equal for a repeated body. */
  bodyDigest: () => string
  /** Whether the events are historical. */
  backfill: boolean
  /** Calls `then` if the client gets a timeout error while the request is still being processed. */
  onClientTimeout: (then: () => void) => void
  /** Makes a timeout during `work` answer QUEUE_UNAVAILABLE. */
  whileQueueing: (work: Promise<void>) => Promise<void>
}
type IntakeDeps = { projectConfigs: ProjectConfigs; cache: Cache; clock: () => number }

/** How long the generated ids of a failed request are kept for its repeat, in ms. */
const GENERATED_IDS_MS = 10 * 60_000

const VERSION = 0x7000
const COUNTS = 0x1000
/** Where the variant and the 62 random bits behind it begin in the text of a UUID. */
const VARIANT_AT = 18

/**
 * Creates UUIDv7 ids from the time of receipt, in ms since the epoch. Ids of one millisecond ascend: their first random
 * field is a counter (RFC 9562, 6.2, method 1), and the other is new whenever the counter starts again. With `uuid`, a
 * twentieth of the time of a large request went into ids.
 */
export const createEventIds = (): ((time: number) => string) => {
  let at = Number.NaN
  let count = 0
  let prefix = ''
  let suffix = ''
  return (time) => {
    if (time !== at || count === COUNTS) {
      const hex = time.toString(16).padStart(12, '0')
      prefix = `${hex.slice(0, 8)}-${hex.slice(8)}-`
      suffix = randomUUID().slice(VARIANT_AT)
      at = time
      count = 0
    }
    return prefix + (VERSION + count++).toString(16) + suffix
  }
}

/** Sorts the events of a request by structure, catalog and metering selectors. */
export const createIntake = ({ projectConfigs, cache, clock }: IntakeDeps) => {
  const anEventId = createEventIds()

  /** Without the same ids, a conversion of a repeated request would count twice. */
  const idsFor = async (
    rawEvents: readonly unknown[],
    config: ProjectConfig,
    { bodyDigest, sync }: Pick<IntakeOptions, 'bodyDigest'> & { sync: boolean },
  ) => {
    const lacksId = rawEvents.some((raw) => {
      const { eventName } = (raw ?? {}) as { eventName?: unknown }
      if (typeof eventName !== 'string' || hasEventId(raw)) return false
      return sync || config.selectorsFor(eventName).length > 0
    })
    if (!lacksId) return undefined
    const name = `generated-ids:v1:${config.projectId}:${bodyDigest()}`
    const remembered = await cache.get(name)
    return { name, ids: remembered === undefined ? [] : remembered.split(',') }
  }

  return {
    /**
     * Checks the events of a request. With `sync`, all events of a repeated request and not only conversions get the same
     * ids again, and a request without a valid event is refused with `errors` and `invalid`, unless it has `messages`.
     * @throws AppError bad_request when no event is structurally valid or a conversion of a backfill lacks its id
     * (MISSING_EVENT_ID); store_unavailable when the metering selectors cannot be read (SELECTOR_LOOKUP_FAILED)
     */
    sort: async (
      { rawEvents, sentAt: sentAtOfClient, sentAtProblem, messages, refused }: TrackRequest,
      sender: Sender,
      options: IntakeOptions,
      { sync = false } = {},
    ): Promise<Intake> => {
      const { projectId } = sender
      const { backfill } = options
      // A backfill is sent long after its events happened, so its send time corrects nothing.
      const sentAt = backfill ? null : sentAtOfClient
      const config = await eventConfigOf(projectConfigs, projectId)
      const turns = new LoopTurns()
      await config.prepare('ingestion', namesIn(rawEvents), turns)
      const generatedIds = await idsFor(rawEvents, config, { ...options, sync })
      const receivedAtMs = clock()
      const newEventId = (): string => anEventId(receivedAtMs)
      const batch: Batch = {
        sender,
        backfill,
        config,
        mode: validationModeOf(sender.validationMode, config.settings),
        budget: new WorkBudget(),
        receivedAt: new Date(receivedAtMs).toISOString(),
        context: {
          receivedAtMs,
          sentAt,
          newEventId: generatedIds === undefined ? newEventId : repeating(generatedIds.ids, newEventId),
          // The size of a message is checked before its event is read.
          mayExceedSize: messages === undefined && options.bodyBytes > MAX_EVENT_BYTES,
          isHistory: backfill,
          ...(sentAtProblem && { sentAtProblem }),
        },
      }
      const intake: Intake = {
        records: [],
        indexes: [],
        rejected: [],
        invalid: [],
        problems: [],
        generatedIds,
      }
      const lackingId: number[] = []
      for (const [index, raw] of rawEvents.entries()) {
        if (turns.isOver()) await turns.next()
        const message = messages?.[index]
        const outcome = judge(raw, message, batch)
        if (outcome.is === 'accepted') addAccepted(intake, index, outcome)
        else if (outcome.is === 'rejected') addRejected(intake, index, raw, outcome, batch.receivedAt)
        else {
          message?.refuse(outcome.problem)
          if (outcome.is === 'malformed') addMalformed(intake, index, raw, outcome)
          else if (!message) lackingId.push(index)
        }
      }
      intake.rejected.push(...(refused?.() ?? []))
      if (lackingId.length > 0)
        throw new AppError('bad_request', 'MISSING_EVENT_ID', { affectedIndices: lackingId })
      if (messages === undefined && intake.records.length + intake.rejected.length === 0)
        throw noneIsValid(intake, sync)
      return intake
    },

    /** Stores the generated ids of a failed request for its repeat. */
    rememberIds: async (generatedIds: Intake['generatedIds']): Promise<void> => {
      if (generatedIds) await cache.set(generatedIds.name, generatedIds.ids.join(','), GENERATED_IDS_MS)
    },
    /** Deletes them after success: the same body is then a new request. */
    forgetIds: async (generatedIds: Intake['generatedIds']): Promise<void> => {
      if (generatedIds) await cache.delete(generatedIds.name)
    },
  }
}

/** What the events of a request are checked with. */
type Batch = {
  sender: Sender
  backfill: boolean
  config: ProjectConfig
  mode: ValidationMode
  budget: WorkBudget
  receivedAt: string
  /** That of events without a message. */
  context: AcceptanceContext
}

type Checked = {
  eventName: string
  record: IngestRecord
  violations: readonly ValidationItem[]
  warnings: readonly ValidationItem[]
}
type Malformed = { is: 'malformed'; eventName: EventErrors['eventName']; problem: ValidationItem }
type Outcome =
  | ({ is: 'accepted' } & Checked)
  /** By the catalog, in the mode `enforce`. */
  | ({ is: 'rejected' } & Checked)
  | Malformed
  /** A conversion of a backfill. */
  | { is: 'lacking an id'; problem: ValidationItem }

/** Checks one event by structure, catalog and metering selectors. */
const judge = (raw: unknown, message: MessageDetails | undefined, batch: Batch): Outcome => {
  const { sender, backfill, config, mode, budget, receivedAt } = batch
  budget.startItem()
  const context = message === undefined ? batch.context : contextOfMessage(batch.context, message, backfill)
  if (backfill && !hasUsableId(raw) && isConversionWithoutId(raw, context, config, budget))
    return { is: 'lacking an id', problem: MISSING_ID }
  const result = acceptEvent(raw, context)
  if (!result.accepted) return { is: 'malformed', eventName: result.eventName, problem: result.problem }

  const { event } = result
  const { eventName } = event
  const { conversions, warnings: ofMetering } = meterEvent(event, config.selectorsFor(eventName), budget)
  const doubts = ofMetering.length > 0 ? result.warnings.concat(ofMetering) : result.warnings
  const { violations, warnings } = validateEvent(event, doubts, mode, config, budget)
  const client = message ? message.client : clientOf(event.properties, sender)
  const receipt = { receivedAt, sentAt: context.sentAt, client, backfill, warnings, conversions }
  if (violations.length > 0)
    return { is: 'rejected', eventName, record: ingestRecordOf(event, config, receipt), violations, warnings }
  const complete = message ? withContext(event, message.contextProperties) : event
  return {
    is: 'accepted',
    eventName,
    record: ingestRecordOf(complete, config, receipt),
    violations,
    warnings,
  }
}

const addAccepted = (intake: Intake, index: number, checked: Checked): void => {
  addProblems(intake, index, checked)
  intake.records.push(checked.record)
  intake.indexes.push(index)
}

const addRejected = (
  intake: Intake,
  index: number,
  raw: unknown,
  checked: Checked,
  rejectedAt: string,
): void => {
  const { record, violations } = checked
  addProblems(intake, index, checked)
  intake.rejected.push({ v: 1, id: uuidv7(), record, errors: [...violations], rejectedAt })
  const reason = violations.map(reasonOf)[0] ?? ''
  intake.invalid.push({ index, rawSample: sampleOf(raw), reason: `schema_violation: ${reason}` })
}

const addMalformed = (
  intake: Intake,
  index: number,
  raw: unknown,
  { eventName, problem }: Malformed,
): void => {
  intake.invalid.push({ index, rawSample: sampleOf(raw), reason: reasonOf(problem) })
  intake.problems.push({ index, eventName, errors: [problem] })
}

const addProblems = (
  { problems }: Intake,
  index: number,
  { eventName, violations, warnings }: Checked,
): void => {
  if (violations.length + warnings.length > 0)
    problems.push({ index, eventName, errors: violations.concat(warnings) })
}

const noneIsValid = ({ invalid, problems }: Intake, sync: boolean): AppError =>
  new AppError('bad_request', 'No event is structurally valid', {
    accepted: 0,
    failed: invalid.length,
    invalid,
    ...(sync && { errors: problems }),
  })

/** Generates ids, first those of an earlier request. It adds new ones to `ids`. */
const repeating = (ids: string[], newEventId: () => string): (() => string) => {
  let generated = 0
  return () => {
    const id = ids[generated] ?? newEventId()
    ids[generated++] = id
    return id
  }
}

const MISSING_ID: ValidationItem = {
  field: 'eventId',
  rule: 'structure',
  message: 'is missing; a conversion in a backfill needs one',
}

const contextOfMessage = (
  context: AcceptanceContext,
  { sentAt, sentAtProblem }: SentAt,
  backfill: boolean,
): AcceptanceContext => ({
  ...context,
  sentAt: backfill ? null : sentAt,
  ...(sentAtProblem && { sentAtProblem }),
})

const withContext = (event: AcceptedEvent, contextProperties: Record<string, unknown>): AcceptedEvent => ({
  ...event,
  properties: { ...contextProperties, ...event.properties },
})

const namesIn = (rawEvents: readonly unknown[]): Set<string> => {
  const names = new Set<string>()
  for (const raw of rawEvents) {
    const { eventName } = (raw ?? {}) as { eventName?: unknown }
    if (typeof eventName === 'string') names.add(eventName)
  }
  return names
}

/** Whether an event has an id that identifies its repeats: a text with a visible character. */
const hasUsableId = (raw: unknown): boolean => {
  const { eventId } = (raw ?? {}) as { eventId?: unknown }
  return typeof eventId === 'string' && hasVisibleCharacter(eventId) && !isMissingId(eventId)
}

/** Whether an event would be a conversion if it had an id. */
const isConversionWithoutId = (
  raw: unknown,
  context: AcceptanceContext,
  config: ProjectConfig,
  budget: WorkBudget,
): boolean => {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return false
  const result = acceptEvent({ ...raw, eventId: null }, { ...context, newEventId: () => '' })
  if (!result.accepted) return false
  return conversionsOf(result.event, config.selectorsFor(result.event.eventName), budget).length > 0
}

const hasEventId = (raw: unknown): boolean => !isMissingId((raw as { eventId?: unknown }).eventId)

const reasonOf = ({ field, message }: ValidationItem): string =>
  field === '' ? `the event ${message}` : `${field} ${message}`

const clientOf = (properties: Record<string, unknown>, sender: Sender): ClientDevice => {
  if (!sender.speaksForOthers) return deviceOf(sender, sender)
  const { ip, userAgent } = properties
  const device = {
    ip: typeof ip === 'string' ? ip : null,
    userAgent: typeof userAgent === 'string' ? userAgent : null,
  }
  return deviceOf(device, sender)
}

/** A device that events name, and whether it is an app. */
export const deviceOf = (
  { ip, userAgent }: Pick<ClientDevice, 'ip' | 'userAgent'>,
  { isApp = false }: Pick<Sender, 'isApp'>,
): ClientDevice => ({ ip, userAgent, ...((isApp || isAppAgent(userAgent)) && { isApp: true as const }) })

const RETRY_AFTER_S = 30

/**
 * The configuration that a project's events are checked with.
 * @throws AppError store_unavailable when the metering selectors cannot be read (SELECTOR_LOOKUP_FAILED)
 */
export const eventConfigOf = async (
  projectConfigs: ProjectConfigs,
  projectId: string,
): Promise<ProjectConfig> => {
  try {
    return await projectConfigs.get(projectId)
  } catch (error) {
    const details = { retryAfter: RETRY_AFTER_S }
    throw new AppError('store_unavailable', 'SELECTOR_LOOKUP_FAILED', details, { cause: error })
  }
}
