import type { Cache } from '@waymark/cache'
import {
  AppError,
  type EventErrors,
  type IngestRecord,
  type InvalidEvent,
  MAX_EVENT_BYTES,
  type RejectedEvent,
  type ValidationItem,
  type ValidationMode,
} from '@waymark/contracts'
import { acceptEvent, ingestRecordOf, sampleOf, validateEvent, validationModeOf } from '@waymark/domain'
import type { ProjectConfig, ProjectConfigs } from '@waymark/project-config'
import { v7 as uuidv7 } from 'uuid'
import { eventConfigOf } from './event-config.ts'
import { createEventIds } from './event-ids.ts'
import type { TrackRequest } from './track-request.ts'

/** Who sends the events, as far as the key and the connection tell. */
export type Sender = {
  projectId: string
  /** The key's own mode; null leaves it to the project. */
  validationMode: ValidationMode | null
  /** Whether the events themselves may say whose device they come from; browsers may not. */
  speaksForOthers: boolean
  ip: string | null
  userAgent: string | null
}

/** A request's events, sorted: what goes on, what `enforce` turned away, and what to tell the client about each. */
export type Intake = {
  records: IngestRecord[]
  rejected: RejectedEvent[]
  /** Events that do not go on, structurally wrong or rejected. */
  invalid: InvalidEvent[]
  /** Everything that is wrong or doubtful. */
  problems: EventErrors[]
  /** The ids that were made here for events without one, in order, and under which name they are remembered. */
  madeIds: { name: string; ids: string[] } | undefined
}

/** What is to be known of a request beside its events. */
export type IntakeOptions = {
  bodyBytes: number
  /** Tells a repeat of the body. */
  bodyDigest: () => string
  /** Whether it tells of the past. */
  backfill: boolean
  /** Has `then` called if the client is told to repeat the request while somebody is still at work on it. */
  whenGivenUp: (then: () => void) => void
}
export type IntakeDeps = { projectConfigs: ProjectConfigs; cache: Cache; clock: () => number }

/** How long ids are remembered that a failed request may come back for, in ms. */
const MADE_IDS_MS = 10 * 60_000

/** Sorts the events of a request by structure, catalog and metering selectors. */
export const createIntake = ({ projectConfigs, cache, clock }: IntakeDeps) => {
  const anEventId = createEventIds()

  /** A client that was told to repeat a request must get the same ids, or a conversion would count twice. */
  const idsFor = async (
    rawEvents: readonly unknown[],
    config: ProjectConfig,
    { bodyDigest, repeatable }: Pick<IntakeOptions, 'bodyDigest'> & { repeatable: boolean },
  ) => {
    const lacksId = rawEvents.some((raw) => {
      const { eventName } = (raw ?? {}) as { eventName?: unknown }
      if (typeof eventName !== 'string' || hasEventId(raw)) return false
      return repeatable || config.selectorsFor(eventName).length > 0
    })
    if (!lacksId) return undefined
    const name = `made-ids:v1:${config.projectId}:${bodyDigest()}`
    const remembered = await cache.get(name)
    return { name, ids: remembered === undefined ? [] : remembered.split(',') }
  }

  return {
    /**
     * With `repeatable`, all events and not only conversions get the same ids again when the request is repeated.
     * @throws AppError bad_request when no event is structurally valid or a conversion of a backfill lacks its id
     * (MISSING_EVENT_ID); store_unavailable when nobody can say which events are conversions (SELECTOR_LOOKUP_FAILED)
     */
    sort: async (
      { rawEvents, sentAt }: TrackRequest,
      sender: Sender,
      options: IntakeOptions,
      { repeatable = false } = {},
    ): Promise<Intake> => {
      const { projectId } = sender
      const config = await eventConfigOf(projectConfigs, projectId)
      const mode = validationModeOf(sender.validationMode, config.settings)
      const madeIds = await idsFor(rawEvents, config, { ...options, repeatable })
      const receivedAtMs = clock()
      const receivedAt = new Date(receivedAtMs).toISOString()
      const intake: Intake = { records: [], rejected: [], invalid: [], problems: [], madeIds }
      const lackingId: number[] = []
      let made = 0
      const newEventId = (): string => {
        if (madeIds === undefined) return anEventId(receivedAtMs)
        const id = madeIds.ids[made] ?? anEventId(receivedAtMs)
        madeIds.ids[made++] = id
        return id
      }
      const context = { receivedAtMs, newEventId, mayExceedSize: options.bodyBytes > MAX_EVENT_BYTES }

      rawEvents.forEach((raw, index) => {
        const result = acceptEvent(raw, context)
        if (!result.accepted) {
          const { eventName, problem } = result
          intake.invalid.push({ index, rawSample: sampleOf(raw), reason: reasonOf(problem) })
          intake.problems.push({ index, eventName, errors: [problem] })
          return
        }
        const { event } = result
        const { violations, warnings } = validateEvent(event, result.warnings, mode, config)
        const client = clientOf(event.properties, sender)
        const { backfill } = options
        const record = ingestRecordOf(event, config, { receivedAt, sentAt, client, backfill, warnings })
        if (backfill && record.conversions.length > 0 && !hasEventId(raw)) lackingId.push(index)
        if (violations.length + warnings.length > 0)
          intake.problems.push({ index, eventName: event.eventName, errors: violations.concat(warnings) })
        const [violation] = violations
        if (violation) {
          intake.rejected.push({ v: 1, id: uuidv7(), record, errors: violations, rejectedAt: receivedAt })
          intake.invalid.push({
            index,
            rawSample: sampleOf(raw),
            reason: `schema_violation: ${reasonOf(violation)}`,
          })
        } else intake.records.push(record)
      })
      if (lackingId.length > 0)
        throw new AppError('bad_request', 'MISSING_EVENT_ID', { affectedIndices: lackingId })
      if (intake.records.length + intake.rejected.length === 0) {
        const { invalid } = intake
        throw new AppError('bad_request', 'No event is structurally valid', {
          accepted: 0,
          failed: invalid.length,
          invalid,
        })
      }
      return intake
    },

    /** Remembers the ids that were made for a request that fails now, in case it is repeated. */
    rememberIds: async (madeIds: Intake['madeIds']): Promise<void> => {
      if (madeIds) await cache.set(madeIds.name, madeIds.ids.join(','), MADE_IDS_MS)
    },
    /** Forgets them once the request has succeeded: the same body sent again later is a new request. */
    forgetIds: async (madeIds: Intake['madeIds']): Promise<void> => {
      if (madeIds) await cache.delete(madeIds.name)
    },
  }
}

const hasEventId = (raw: unknown): boolean => ((raw as { eventId?: unknown }).eventId ?? null) !== null

const reasonOf = ({ field, message }: ValidationItem): string =>
  field === '' ? `the event ${message}` : `${field} ${message}`

const clientOf = (properties: Record<string, unknown>, sender: Sender): IngestRecord['client'] => {
  if (!sender.speaksForOthers) return { ip: sender.ip, userAgent: sender.userAgent }
  const { ip, userAgent } = properties
  return {
    ip: typeof ip === 'string' ? ip : null,
    userAgent: typeof userAgent === 'string' ? userAgent : null,
  }
}
