import { createHash } from 'node:crypto'
import { AppError } from '@waymark/contracts'
import type { HttpRequest, Reply } from '@waymark/service-kit'

const TAG = /(?:W\/)?"[^"]*"/g

/** The `ETag` of what is answered: the same for the same JSON in any order of names, whichever process answers. */
export const entityTagOf = (version: unknown): string =>
  `"${createHash('sha256').update(JSON.stringify(version, inOrder)).digest('base64url').slice(0, 22)}"`

/** Whether a header that lists entity tags names this one. Weak ones count, which is right for reading only. */
export const namesTag = (header: string | undefined, tag: string): boolean =>
  header !== undefined && (isAny(header) || tagsIn(header).some((given) => given.replace(/^W\//, '') === tag))

/**
 * Makes the check of an `If-Match` header, to be called with what is about to be changed.
 * @returns throws AppError precondition_failed when the header names other versions than the one given
 */
export const matchRequirement =
  (header: string | undefined) =>
  (current: unknown): void => {
    if (header === undefined || isAny(header) || tagsIn(header).includes(entityTagOf(current))) return
    throw new AppError('precondition_failed', 'The resource has changed: If-Match names another version')
  }

const isAny = (header: string): boolean => header.trim() === '*'

const tagsIn = (header: string): string[] => header.match(TAG) ?? []

// PostgreSQL keeps the members of a JSON object in an order of its own.
const inOrder = (_name: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value

/** What is answered for a project. */
export type ProjectReply = Reply & {
  /** What the `ETag` is made of when that is not the body. Lists and streams have none. */
  version?: unknown
}

/** The reply with its `ETag`; a GET that knows this version already gets 304 and no body. */
export const taggedReply = (request: HttpRequest, { version, ...reply }: ProjectReply): Reply => {
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
