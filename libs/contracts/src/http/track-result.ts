import { type Static, Type } from 'typebox'

/** A problem with a field of an event. */
export const ValidationItem = Type.Object({
  field: Type.String(),
  rule: Type.String(),
  expected: Type.Optional(Type.Unknown()),
  actual: Type.Optional(Type.Unknown()),
  message: Type.String(),
})
export type ValidationItem = Static<typeof ValidationItem>

/** A refused event, by its index in the request. */
export const InvalidEvent = Type.Object({
  index: Type.Integer(),
  rawSample: Type.String({ maxLength: 256 }),
  reason: Type.String(),
})
export type InvalidEvent = Static<typeof InvalidEvent>

/** Errors or warnings of an event, by its index in the request. */
export const EventErrors = Type.Object({
  index: Type.Integer(),
  eventName: Type.String(),
  errors: Type.Array(ValidationItem),
})
export type EventErrors = Static<typeof EventErrors>

/** 202: the events are durable in the queue and will be stored. */
export const AsyncTrackResult = Type.Object({
  accepted: Type.Integer(),
  failed: Type.Integer(),
  queued: Type.Integer(),
  processed: Type.Literal(false),
  invalid: Type.Optional(Type.Array(InvalidEvent)),
})
export type AsyncTrackResult = Static<typeof AsyncTrackResult>

/** 200: the events can be read from the primary database and the event store. */
export const SyncTrackResult = Type.Object({
  accepted: Type.Integer({ description: 'Events that are stored, by this request or an earlier one.' }),
  failed: Type.Integer({
    description: 'Events that are not stored: invalid, rejected, or with the id of another event.',
  }),
  queued: Type.Integer({ description: 'Conversions that were also queued.' }),
  processed: Type.Literal(true),
  errors: Type.Optional(Type.Array(EventErrors)),
  enforceRejected: Type.Optional(Type.Integer()),
})
export type SyncTrackResult = Static<typeof SyncTrackResult>
