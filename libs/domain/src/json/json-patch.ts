import { isDeepStrictEqual } from 'node:util'

/** An operation of a JSON Patch (RFC 6902). `was` is the value before, which the standard has readers ignore. */
export type PatchOperation =
  | { op: 'add'; path: string; value: unknown }
  | { op: 'replace'; path: string; value: unknown; was: unknown }
  | { op: 'remove'; path: string; was: unknown }

/**
 * The JSON Patch that turns one JSON value into another. Items that were added to a list or removed from it in one place
 * are found; other items are compared by position. The time grows with size and depth, so that large lists are safe.
 */
export const createPatch = (before: unknown, after: unknown, path = ''): PatchOperation[] => {
  if (isDeepStrictEqual(before, after)) return []
  if (Array.isArray(before) && Array.isArray(after)) return patchList(before, after, path)
  if (isObject(before) && isObject(after)) return patchObject(before, after, path)
  return [{ op: 'replace', path, value: after, was: before }]
}

const patchObject = (
  before: Record<string, unknown>,
  after: Record<string, unknown>,
  path: string,
): PatchOperation[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name): PatchOperation[] => {
    const at = `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    if (!Object.hasOwn(after, name)) return [{ op: 'remove', path: at, was: before[name] }]
    if (!Object.hasOwn(before, name)) return [{ op: 'add', path: at, value: after[name] }]
    return createPatch(before[name], after[name], at)
  })

const patchList = (before: readonly unknown[], after: readonly unknown[], path: string): PatchOperation[] => {
  const shorter = Math.min(before.length, after.length)
  let start = 0
  while (start < shorter && isDeepStrictEqual(before[start], after[start])) start += 1
  let end = 0
  while (end < shorter - start && isDeepStrictEqual(before.at(-1 - end), after.at(-1 - end))) end += 1
  const pairs = after
    .slice(start, shorter - end)
    .flatMap((item, index) => createPatch(before[start + index], item, `${path}/${start + index}`))
  // From the last one on, so that a removal does not move the items that follow it.
  const removed = before
    .slice(shorter - end, before.length - end)
    .map((was, index): PatchOperation => ({ op: 'remove', path: `${path}/${shorter - end + index}`, was }))
    .reverse()
  const added = after
    .slice(shorter - end, after.length - end)
    .map((value, index): PatchOperation => ({ op: 'add', path: `${path}/${shorter - end + index}`, value }))
  return [...pairs, ...removed, ...added]
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
