import { MAX_EVENT_BYTES } from '@waymark/contracts/http/track-request'
import { postHogProblem, readPostHogMessage } from '@waymark/domain/posthog-protocol'
import type { JsonBody } from '@waymark/service-kit'
import type { MessageRequest } from '../client-messages/collect-messages.ts'

type PostHogBody = {
  api_key?: unknown
  batch?: unknown
  sent_at?: unknown
  historical_migration?: unknown
}

/** The messages of a body of PostHog's protocol: `{ batch }`, a list, or one message. @param now in ms */
export const postHogMessages = (
  { value, bytes }: Pick<JsonBody, 'value' | 'bytes'>,
  now: number,
): MessageRequest => {
  const { batch, sent_at: sentAt, historical_migration } = objectOf(value)
  const list = Array.isArray(value) ? value : batch
  const isHistory = historical_migration === true
  const request = { sentAt, receivedAt: now, isHistory, mayExceedSize: bytes > MAX_EVENT_BYTES }
  return {
    rawMessages: Array.isArray(list) ? list : [value],
    isSingle: !Array.isArray(list),
    isHistory,
    mayCallFlags: !isHistory,
    read: (raw, index, settings) => readPostHogMessage(raw, index, { ...request, settings }),
    problemOf: postHogProblem,
  }
}

/** Whether a body of `/batch` is of PostHog's protocol and not of Segment's. */
export const isPostHogBatch = (body: unknown): boolean => typeof objectOf(body).api_key === 'string'

const objectOf = (value: unknown): PostHogBody =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
