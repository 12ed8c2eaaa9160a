import type { TrackedEvent } from '@waymark/contracts/http/track-request'
import type { ValidationItem } from '@waymark/contracts/http/track-result'
import type { ClientDevice } from '@waymark/contracts/records/ingest-record'
import type { SentAt } from '../ingestion/accept-event.ts'

export type JsonObject = Record<string, unknown>

/** A change of a person. With `links`, the visitor and the user become one person; otherwise only traits are written. */
export type MessagePersonChange = {
  visitorId: string | null
  userId: string | null
  links: boolean
  traits: JsonObject
  userHash: string | null
  /** When it happened by the clock of the client, RFC 3339 if the client sent that. */
  happenedAt?: string
}

/** An event of a message, with what the message says beside it. */
export type MessageEventParts = {
  /** As a client of `/api/v1/t` would send it; not checked yet. */
  event: Partial<Record<keyof TrackedEvent, unknown>>
  /** Properties from the context. Those of the event win. */
  contextProperties: JsonObject
  device: ClientDevice
}

/** A message for the quarantine: its ids if they are usable, and its content without traits that must not be stored. */
export type MessageSummary = {
  eventId: string | undefined
  eventName: string
  visitorId: string | undefined
  userId: string | undefined
  content: JsonObject
}

/** A message of another protocol in terms of Waymark. With `problems`, parts of it or all of it are not taken. */
export type ClientMessage = SentAt & {
  personChange: MessagePersonChange | undefined
  event: MessageEventParts | undefined
  problems: ValidationItem[]
  /** Built only for messages that are quarantined. */
  summary: () => MessageSummary
}
