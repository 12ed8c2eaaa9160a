import { parseRfc3339, type ValidationItem } from '@waymark/contracts'

/** When a client sent a request by its own clock, and a warning if that cannot be used. */
export type SentAt = { sentAt: string | null; sentAtProblem?: ValidationItem }

/** Maximum characters. It is stored with every event of the request. */
const MAX_LENGTH = 64

/** Reads the send time of a request. One that is not an RFC 3339 time counts as missing. */
export const readSentAt = (value: unknown): SentAt => {
  if (value === null || value === undefined) return { sentAt: null }
  if (typeof value === 'string' && value.length <= MAX_LENGTH && parseRfc3339(value) !== undefined)
    return { sentAt: value }
  const actual = typeof value === 'string' ? value.slice(0, MAX_LENGTH).toWellFormed() : undefined
  return {
    sentAt: null,
    sentAtProblem: {
      field: 'sentAt',
      rule: 'invalid_sent_at',
      ...(actual !== undefined && { actual }),
      message: 'sentAt of the request is not an RFC 3339 time and is treated as missing',
    },
  }
}
