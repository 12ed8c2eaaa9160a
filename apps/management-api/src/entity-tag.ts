import { createHash } from 'node:crypto'
import { AppError } from '@waymark/contracts'

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
    throw new AppError('precondition_failed', 'It has been changed meanwhile: If-Match names another version')
  }

const isAny = (header: string): boolean => header.trim() === '*'

const tagsIn = (header: string): string[] => header.match(TAG) ?? []

// PostgreSQL keeps the members of a JSON object in an order of its own.
const inOrder = (_name: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value
