import { readClientTime } from '@waymark/contracts/client-time'
import { MAX_EVENT_BYTES } from '@waymark/contracts/http/track-request'
import { readSegmentMessage, type SegmentCall, segmentProblem } from '@waymark/domain/segment-protocol'
import type { MessageRequest } from '../client-messages/collect-messages.ts'

/** A parsed body of Segment's protocol, and the call of its path; undefined for a batch. */
type SegmentBody = { body: unknown; call: SegmentCall | undefined }

/** The messages of a body of Segment's protocol. @param isImport whether they may be of the past */
export const segmentMessages = (
  { body, call }: SegmentBody,
  { bodyBytes, isImport, now }: { bodyBytes: number; isImport: boolean; now: number },
): MessageRequest => {
  const { rawMessages, ...shared } = messagesIn({ body, call }, bodyBytes)
  const isPast = isImport && isHistory(body, now)
  return {
    rawMessages,
    isSingle: call !== undefined,
    isHistory: isPast,
    read: (raw, _index, settings) => [readSegmentMessage(raw, { ...shared, isHistory: isPast, settings })],
    problemOf: segmentProblem,
  }
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
const messagesIn = ({ body, call }: SegmentBody, bodyBytes: number) => {
  const { batch, sentAt, context } = (body ?? {}) as { batch?: unknown; sentAt?: unknown; context?: unknown }
  const mayExceedSize = bodyBytes > MAX_EVENT_BYTES
  return Array.isArray(batch)
    ? { rawMessages: batch as unknown[], call: undefined, sentAt, context, mayExceedSize }
    : { rawMessages: [body], call, sentAt: undefined, context: undefined, mayExceedSize }
}
