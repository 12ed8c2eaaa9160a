import { isDeepStrictEqual } from 'node:util'

/** An operation of a JSON Patch (RFC 6902). `was` is the value before, which the standard has readers ignore. */
export type PatchOperation =
  | { op: 'add'; path: string; value: unknown }
  | { op: 'replace'; path: string; value: unknown; was: unknown }
  | { op: 'remove'; path: string; was: unknown }

/** When long work has to let others continue. `LoopTurns` of service-kit is one. */
export type Turns = { isOver(): boolean; next(): Promise<void> }

/**
 * The JSON Patch that turns one JSON value into another. Items that were added to a list or removed from it in one place
 * are found; other items are compared by position. The time grows with size and depth, and is divided into turns.
 */
export const createPatch = async (
  before: unknown,
  after: unknown,
  turns: Turns,
): Promise<PatchOperation[]> => {
  const patch: PatchOperation[] = []
  for (const operation of compare(before, after, '')) {
    if (operation) patch.push(operation)
    if (turns.isOver()) await turns.next()
  }
  return patch
}

/** Operations, and undefined after a part of the work that has found none. */
type Steps = Generator<PatchOperation | undefined>

function* compare(before: unknown, after: unknown, path: string): Steps {
  if (Array.isArray(before) && Array.isArray(after)) yield* compareLists(before, after, path)
  else if (isObject(before) && isObject(after)) yield* compareObjects(before, after, path)
  else yield before === after ? undefined : { op: 'replace', path, value: after, was: before }
}

function* compareObjects(
  before: Record<string, unknown>,
  after: Record<string, unknown>,
  path: string,
): Steps {
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const at = `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    if (!Object.hasOwn(after, name)) yield { op: 'remove', path: at, was: before[name] }
    else if (!Object.hasOwn(before, name)) yield { op: 'add', path: at, value: after[name] }
    else yield* compare(before[name], after[name], at)
  }
}

function* compareLists(before: readonly unknown[], after: readonly unknown[], path: string): Steps {
  const shorter = Math.min(before.length, after.length)
  let start = 0
  for (; start < shorter && isDeepStrictEqual(before[start], after[start]); start++) yield undefined
  let end = 0
  for (; end < shorter - start && isDeepStrictEqual(before.at(-1 - end), after.at(-1 - end)); end++)
    yield undefined
  for (let index = start; index < shorter - end; index++)
    yield* compare(before[index], after[index], `${path}/${index}`)
  // From the last one on, so that a removal does not move the items that follow it.
  for (let index = before.length - end - 1; index >= shorter - end; index--)
    yield { op: 'remove', path: `${path}/${index}`, was: before[index] }
  for (let index = shorter - end; index < after.length - end; index++)
    yield { op: 'add', path: `${path}/${index}`, value: after[index] }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
