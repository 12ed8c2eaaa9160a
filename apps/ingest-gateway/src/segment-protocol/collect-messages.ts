import { readClientTime } from '@waymark/contracts/client-time'
import { MAX_EVENT_BYTES } from '@waymark/contracts/http/track-request'
import type { ValidationItem } from '@waymark/contracts/http/track-result'
import type { RejectedEvent } from '@waymark/contracts/records/quarantine-records'
import {
  readSegmentMessage,
  type SegmentCall,
  type SegmentMessage,
  type SegmentPersonChange,
  segmentProblem,
} from '@waymark/domain/segment-protocol'
import type { ProjectConfigs } from '@waymark/project-config'
import { LoopTurns } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import type { Change, createIdentify, Sender as Identifier } from '../identify.ts'
import { deviceOf, eventConfigOf, type IntakeOptions, type Sender } from '../intake.ts'
import type { LimitedPeople } from '../limits.ts'
import type { createTrackEvents } from '../track-events.ts'

/** A parsed body of Segment's protocol, and the call of its path; undefined for a batch. */
type MessageRequest = { body: unknown; call: SegmentCall | undefined }

/** The sender of messages. A server names the device of its user, and its own user agent is not that of a person. */
type MessageSender = Sender & Identifier & { isBrowser: boolean }

type MessageOptions = IntakeOptions & {
  /** Called with the number of changes of people, before they are made. */
  onPersonChanges: (count: number) => void
  /** Which of the changes of people the limits of the sender allow. */
  limitPeople: (changes: readonly Change[]) => Promise<LimitedPeople>
}

type Deps = Pick<ReturnType<typeof createIdentify>, 'changePeople'> & {
  projectConfigs: ProjectConfigs
  trackEvents: ReturnType<typeof createTrackEvents>
  clock: () => number
}

/** A message that is being collected. `isRefused`: nothing of it is stored. */
type Collected = SegmentMessage & { isRefused: boolean }

/** Refused messages of one request that are quarantined. A body of 500 KiB could hold 100,000 of them. */
const MAX_REFUSED = 1_000

/**
 * Accepts messages of Segment's protocol: writes the people in them, and puts their events into the queue. Resolves when
 * the people are written and the events are durable. A message that is not valid is quarantined. People are written
 * first, so that events see them.
 * @throws AppError queue_unavailable or store_unavailable; the request can then be repeated as a whole. rate_limited for
 * one message; those of a batch that are over a limit are quarantined, so that its events are not lost
 */
export const createCollectMessages =
  ({ projectConfigs, changePeople, trackEvents, clock }: Deps) =>
  async (request: MessageRequest, sender: MessageSender, options: MessageOptions): Promise<void> => {
    const { settings } = await eventConfigOf(projectConfigs, sender.projectId)
    const quarantine = createQuarantine(sender.projectId, clock)
    const turns = new LoopTurns()
    const collected: Collected[] = []
    const { rawMessages, ...shared } = messagesIn(request, options.bodyBytes)
    const backfill = options.backfill && isHistory(request.body, clock())
    for (const raw of rawMessages) {
      if (turns.isOver()) await turns.next()
      const message = readSegmentMessage(raw, { ...shared, isHistory: backfill, settings })
      if (message.problems.length > 0) quarantine.add(message, message.problems)
      if (message.personChange || message.event) collected.push({ ...message, isRefused: false })
    }

    const wanted = collected.flatMap((message) =>
      message.personChange ? [{ message, change: personOf(message.personChange) }] : [],
    )
    const { allowed, error: overLimit } = await options.limitPeople(wanted.map(({ change }) => change))
    const changing = wanted.filter((_one, index) => allowed[index])
    if (changing.length < wanted.length && request.call !== undefined) throw overLimit
    for (const { message } of wanted.filter((_one, index) => !allowed[index])) {
      message.isRefused = true
      quarantine.add(message, [{ field: '', rule: 'structure', message: overLimit.message }])
    }
    options.onPersonChanges(changing.length)
    await changePeople(
      sender,
      changing.map(({ change }) => change),
      (index, error) => {
        const message = changing[index]?.message
        if (!message) return
        message.isRefused = true
        quarantine.add(message, [{ field: '', rule: 'structure', message: error.message }])
      },
    )

    const events = collected.flatMap((message) =>
      message.event && !message.isRefused ? [{ ...message.event, message }] : [],
    )
    const messages = events.map(({ contextProperties, device, message }) => ({
      sentAt: message.sentAt,
      ...(message.sentAtProblem && { sentAtProblem: message.sentAtProblem }),
      contextProperties,
      client: deviceOf(
        {
          ip: sender.speaksForOthers ? device.ip : sender.ip,
          userAgent:
            device.userAgent ?? (sender.isBrowser && !sender.speaksForOthers ? sender.userAgent : null),
        },
        sender,
      ),
      refuse: (problem: ValidationItem) => quarantine.add(message, [segmentProblem(problem)]),
    }))
    const rawEvents = events.map(({ event }) => event)
    if (rawEvents.length === 0 && quarantine.isEmpty()) return
    const tracked = { rawEvents, sentAt: null, messages, refused: quarantine.all }
    await trackEvents.enqueue(tracked, sender, { ...options, backfill })
  }

/** How long ago an SDK sent a batch that is not of the past, at most, in ms. */
const JUST_SENT_MS = 10 * 60_000
/** How long ago all of its messages happened, at most, in ms. */
const JUST_HAPPENED_MS = 24 * 60 * 60_000

/**
 * Whether the body of an import is of the past. Segment's SDKs for Ruby and Java send all their batches as imports, with
 * the time of sending.
 */
export const isHistory = (body: unknown, now: number): boolean => {
  const { batch, sentAt } = (body ?? {}) as { batch?: unknown; sentAt?: unknown }
  const ageOf = (time: unknown): number => now - (readClientTime(time) ?? Number.NaN)
  if (!Array.isArray(batch) || !(Math.abs(ageOf(sentAt)) <= JUST_SENT_MS)) return true
  return batch.some((message: unknown) => {
    const { timestamp, originalTimestamp } = (message ?? {}) as Record<string, unknown>
    const time = timestamp ?? originalTimestamp ?? sentAt
    return !(ageOf(time) <= JUST_HAPPENED_MS)
  })
}

/** The messages of a body, and what it says about all of them. A body that is not a batch is one message. */
const messagesIn = ({ body, call }: MessageRequest, bodyBytes: number) => {
  const { batch, sentAt, context } = (body ?? {}) as { batch?: unknown; sentAt?: unknown; context?: unknown }
  const mayExceedSize = bodyBytes > MAX_EVENT_BYTES
  return Array.isArray(batch)
    ? { rawMessages: batch as unknown[], call: undefined, sentAt, context, mayExceedSize }
    : { rawMessages: [body], call, sentAt: undefined, context: undefined, mayExceedSize }
}

/** A message that does not link is about the user, if it names both. */
const personOf = ({ visitorId, links, happenedAt, ...about }: SegmentPersonChange): Change => ({
  visitorId: links || about.userId === null ? visitorId : null,
  userId: about.userId,
  traits: about.traits,
  userHash: about.userId === null ? null : about.userHash,
  ...(happenedAt !== undefined && { happenedAt }),
})

/** Collects what is quarantined of a request. */
const createQuarantine = (projectId: string, clock: () => number) => {
  const refused: RejectedEvent[] = []
  let unlisted = 0
  return {
    isEmpty: () => refused.length === 0,
    add: ({ summary }: Pick<SegmentMessage, 'summary'>, errors: ValidationItem[]): void => {
      if (refused.length === MAX_REFUSED) {
        unlisted++
        return
      }
      const { eventId = uuidv7(), eventName, visitorId, userId, content } = summary()
      const receivedAt = new Date(clock()).toISOString()
      const event = {
        eventId,
        eventName,
        properties: content,
        ...(visitorId !== undefined && { visitorId }),
        ...(userId !== undefined && { userId }),
      }
      const record = { v: 1 as const, kind: 'event' as const, projectId, receivedAt, event }
      refused.push({ v: 1, id: uuidv7(), record, errors, rejectedAt: receivedAt })
    },
    all: (): readonly RejectedEvent[] => {
      const last = refused.at(-1)
      if (unlisted > 0 && last) {
        const message = `of the same request, ${unlisted} more messages were refused that are not listed`
        last.errors.push({ field: '', rule: 'structure', message })
      }
      return refused
    },
  }
}
