import type { ValidationItem } from '@waymark/contracts/http/track-result'
import type { ProjectSettings } from '@waymark/contracts/project-settings'
import type { RejectedEvent } from '@waymark/contracts/records/quarantine-records'
import type { ClientMessage, MessagePersonChange } from '@waymark/domain/client-message'
import type { ProjectConfigs } from '@waymark/project-config'
import { LoopTurns } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import type { Change, createIdentify, Sender as Identifier } from '../identify.ts'
import { deviceOf, eventConfigOf, type IntakeOptions, type Sender } from '../intake.ts'
import type { LimitedPeople } from '../limits.ts'
import type { ReportFlagCalls } from '../posthog-protocol/flag-calls.ts'
import type { createTrackEvents } from '../track-events.ts'

/** The messages of a request, and how its protocol reads them. */
export type MessageRequest = {
  rawMessages: readonly unknown[]
  /** Whether it is no batch. A change of a person that is over a limit then fails the request. */
  isSingle: boolean
  /** Whether the messages are of the past. */
  isHistory: boolean
  /** Reads one message, which may become several. */
  read: (raw: unknown, index: number, settings: ProjectSettings) => ClientMessage[]
  /** Whether its events may say that a person has seen a flag. */
  mayCallFlags?: boolean
  /** Why an event is refused, in terms of the protocol. */
  problemOf: (problem: ValidationItem) => ValidationItem
}

/** The sender of messages. A server names the device of its user, and its own user agent is not that of a person. */
type MessageSender = Sender & Identifier & { isBrowser: boolean; environment: string }

type MessageOptions = Omit<IntakeOptions, 'backfill'> & {
  /** Called with the number of changes of people, before they are made. */
  onPersonChanges: (count: number) => void
  /** Which of the changes of people the limits of the sender allow. */
  limitPeople: (changes: readonly Change[]) => Promise<LimitedPeople>
}

type Deps = Pick<ReturnType<typeof createIdentify>, 'changePeople'> & {
  projectConfigs: ProjectConfigs
  trackEvents: ReturnType<typeof createTrackEvents>
  reportFlagCalls: ReportFlagCalls
  clock: () => number
}

/** A message that is being collected. `isRefused`: nothing of it is stored. */
type Collected = ClientMessage & { isRefused: boolean }

/** Refused messages of one request that are quarantined. A body of 500 KiB could hold 100,000 of them. */
const MAX_REFUSED = 1_000

/**
 * Accepts messages of another protocol: writes the people in them, and puts their events into the queue. Resolves when
 * the people are written and the events are durable. A message that is not valid is quarantined. People are written
 * first, so that events see them.
 * @throws AppError queue_unavailable or store_unavailable; the request can then be repeated as a whole. rate_limited for
 * one message; those of a batch that are over a limit are quarantined, so that its events are not lost
 */
export const createCollectMessages =
  ({ projectConfigs, changePeople, trackEvents, reportFlagCalls, clock }: Deps) =>
  async (request: MessageRequest, sender: MessageSender, options: MessageOptions): Promise<void> => {
    const { settings } = await eventConfigOf(projectConfigs, sender.projectId)
    const quarantine = createQuarantine(sender.projectId, clock)
    const turns = new LoopTurns()
    const collected: Collected[] = []
    for (const [index, raw] of request.rawMessages.entries()) {
      if (turns.isOver()) await turns.next()
      for (const message of request.read(raw, index, settings)) {
        if (message.problems.length > 0) quarantine.add(message, message.problems)
        if (message.personChange || message.event) collected.push({ ...message, isRefused: false })
      }
    }

    const wanted = collected.flatMap((message) =>
      message.personChange
        ? [{ message, change: personOf(message.personChange, request.isHistory ? null : message.sentAt) }]
        : [],
    )
    const { allowed, error: overLimit } = await options.limitPeople(wanted.map(({ change }) => change))
    const changing = wanted.filter((_one, index) => allowed[index])
    if (changing.length < wanted.length && request.isSingle) throw overLimit
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
      refuse: (problem: ValidationItem) => quarantine.add(message, [request.problemOf(problem)]),
    }))
    const rawEvents = events.map(({ event }) => event)
    if (rawEvents.length === 0 && quarantine.isEmpty()) return
    const tracked = { rawEvents, sentAt: null, messages, refused: quarantine.all }
    await trackEvents.enqueue(tracked, sender, { ...options, backfill: request.isHistory })
    if (request.mayCallFlags) await reportFlagCalls(rawEvents, sender)
  }

/** A message that does not link is about the user, if it names both. */
const personOf = (
  { visitorId, links, happenedAt, ...about }: MessagePersonChange,
  sentAt: string | null,
): Change => ({
  visitorId: links || about.userId === null ? visitorId : null,
  userId: about.userId,
  traits: about.traits,
  userHash: about.userId === null ? null : about.userHash,
  ...(happenedAt !== undefined && { happenedAt, sentAt }),
})

/** Collects what is quarantined of a request. */
const createQuarantine = (projectId: string, clock: () => number) => {
  const refused: RejectedEvent[] = []
  let unlisted = 0
  return {
    isEmpty: () => refused.length === 0,
    add: ({ summary }: Pick<ClientMessage, 'summary'>, errors: ValidationItem[]): void => {
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
