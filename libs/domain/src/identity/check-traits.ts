import { MAX_TRAIT_NAME_LENGTH, MAX_TRAITS_BYTES, MAX_TRAITS_DEPTH } from '@waymark/contracts'
import { isDeeperThan } from '../ingestion/json-depth.ts'

/** Traits that other parts rely on, such as the sending of mail on `email`: strings. */
const KNOWN_TRAITS = new Set(['email', 'phone', 'name', 'locale', 'timezone'])
/** Names that would reach an object's prototype in careless code. */
const RESERVED = new Set(['__proto__', 'constructor', 'prototype'])

/** Traits that may be stored, `null` to unset one, and the names of those that may not. */
export type CheckedTraits = { traits: Record<string, unknown>; droppedKeys: string[] }

/**
 * Why traits cannot be taken at all, for the client to read; `undefined` when they can.
 * @param bytes the UTF-8 length of their JSON as it was sent
 */
export const traitsProblem = (traits: Record<string, unknown>, bytes: number): string | undefined => {
  if (bytes > MAX_TRAITS_BYTES) return `traits take ${bytes} bytes; ${MAX_TRAITS_BYTES} are allowed`
  if (isDeeperThan(traits, MAX_TRAITS_DEPTH))
    return `traits are nested deeper than ${MAX_TRAITS_DEPTH} levels`
  return undefined
}

/** Sorts out traits that are not stored: badly named, of a wrong type, or denied by the project. */
export const checkTraits = (
  sent: Record<string, unknown>,
  { deniedTraits = [] }: { deniedTraits?: readonly string[] | undefined } = {},
): CheckedTraits => {
  const denied = new Set(deniedTraits)
  const isDropped = ([name, value]: [string, unknown]): boolean =>
    isBadName(name) || denied.has(name) || (KNOWN_TRAITS.has(name) && !isStringOrNull(value))
  const entries = Object.entries(sent)
  return {
    traits: Object.fromEntries(entries.filter((entry) => !isDropped(entry))),
    droppedKeys: entries.filter(isDropped).map(([name]) => name),
  }
}

const isBadName = (name: string): boolean =>
  /^[$_]/.test(name) || RESERVED.has(name) || isLongerThan(name, MAX_TRAIT_NAME_LENGTH)

// Characters, not UTF-16 units, as everywhere in the API.
const isLongerThan = (name: string, limit: number): boolean => name.length > limit && [...name].length > limit

const isStringOrNull = (value: unknown): boolean => value === null || typeof value === 'string'
