import { MAX_TRAIT_NAME_LENGTH, MAX_TRAITS_BYTES, MAX_TRAITS_DEPTH } from '@waymark/contracts/http/identify'
import { isDeeperThan } from '../json/client-json.ts'

/** Traits that must be strings, because other parts use them, such as emails use `email`. */
const KNOWN_TRAITS = new Set(['email', 'phone', 'name', 'locale', 'timezone'])
/** Names that could lead to prototype pollution. */
const RESERVED = new Set(['__proto__', 'constructor', 'prototype'])

/** Traits to store, where `null` unsets one, and the names of those that are not stored. */
export type CheckedTraits = { traits: Record<string, unknown>; droppedKeys: string[] }

/**
 * Why traits are refused as a whole, for an error message. `undefined` when they are valid.
 * @param bytes the UTF-8 length of their JSON as it was sent
 */
export const traitsProblem = (traits: Record<string, unknown>, bytes: number): string | undefined => {
  if (bytes > MAX_TRAITS_BYTES) return `traits take ${bytes} bytes; ${MAX_TRAITS_BYTES} are allowed`
  if (isDeeperThan(traits, MAX_TRAITS_DEPTH))
    return `traits are nested deeper than ${MAX_TRAITS_DEPTH} levels`
  return undefined
}

/** Separates traits that are not stored: with an invalid name or type, or denied by the project. */
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

// In characters, not UTF-16 code units, as everywhere in the API.
const isLongerThan = (name: string, limit: number): boolean => name.length > limit && [...name].length > limit

const isStringOrNull = (value: unknown): boolean => value === null || typeof value === 'string'
