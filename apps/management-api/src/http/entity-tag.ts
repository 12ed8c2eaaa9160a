import { createHash } from 'node:crypto'
import { AppError } from '@waymark/contracts/app-error'
import { type HttpRequest, namesTag, type Reply, tagsIn } from '@waymark/service-kit'

/** The `ETag` of a version. It does not depend on the order of fields or on the process. */
export const entityTagOf = (version: unknown): string =>
  `"${createHash('sha256').update(JSON.stringify(version, inOrder)).digest('base64url').slice(0, 22)}"`

/**
 * Creates the check of an `If-Match` header. Call it with the version before the change.
 * @returns a function that throws AppError precondition_failed when the header names other versions only
 */
export const matchRequirement =
  (header: string | undefined) =>
  (current: unknown): void => {
    if (header === undefined || isAny(header) || tagsIn(header).includes(entityTagOf(current))) return
    throw new AppError('precondition_failed', 'The resource has changed: If-Match names another version')
  }

const isAny = (header: string): boolean => header.trim() === '*'

// PostgreSQL does not keep the order of JSON fields.
const inOrder = (_name: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value

/** The answer of a project's route. */
export type ProjectReply<Body = unknown> = Reply<Body> & {
  /** What the `ETag` is made of, unless it is the body. Lists and streams have no `ETag`. */
  version?: unknown
  /** Why the caller did it, for the audit log. */
  reason?: string
}

/** The reply with its `ETag`, or 304 without a body for a GET whose `If-None-Match` names it. */
export const taggedReply = (
  request: HttpRequest,
  { version, reason: _reason, ...reply }: ProjectReply,
): Reply => {
  const tagged = version ?? (isList(reply.body) ? undefined : reply.body)
  if (tagged === undefined) return reply
  const tag = entityTagOf(tagged)
  const headers = { ...reply.headers, ETag: tag }
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (isRead && namesTag(request.headers['if-none-match'], tag)) return { status: 304, headers }
  return { ...reply, headers }
}

const isList = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && 'data' in body && 'nextCursor' in body
