import { MAX_TRAITS_BYTES } from '@waymark/contracts/http/identify'
import { MAX_EVENT_BYTES, MAX_EVENT_DEPTH } from '@waymark/contracts/http/track-request'
import type { ValidationItem } from '@waymark/contracts/http/track-result'
import { numberSource } from '@waymark/contracts/number-source'
import { MAX_ID_LENGTH } from '@waymark/contracts/schema-parts'
import { exceedsEventSize, readSentAt, type SentAt, sampleOf } from '../ingestion/accept-event.ts'
import { extentOf, isDeeperThan } from '../json/client-json.ts'
import type { JsonObject } from './client-message.ts'

/** The rule of all problems of messages. Their events cannot be replayed. */
export const STRUCTURE_RULE = 'structure'

export const structural = (field: string, message: string): ValidationItem => ({
  field,
  rule: STRUCTURE_RULE,
  message,
})

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
export const isGiven = (value: unknown): boolean => value !== null && value !== undefined
export const objectIn = (value: unknown): JsonObject => (isObject(value) ? value : {})
export const textIn = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value : null

/** Why a message cannot be read at all: it is no object, too deep or too large. */
export const structuralProblem = (raw: unknown, mayExceedSize: boolean): ValidationItem | undefined => {
  if (!isObject(raw)) return structural('', 'must be an object')
  const { tooDeep, outOfRange, bytesAtMost } = extentOf(raw, MAX_EVENT_DEPTH)
  if (tooDeep) return structural('', `is nested deeper than ${MAX_EVENT_DEPTH} levels`)
  if (outOfRange) return structural('', 'holds a number that is out of range')
  if (mayExceedSize && bytesAtMost > MAX_EVENT_BYTES && exceedsEventSize(raw))
    return structural('', `is larger than ${MAX_EVENT_BYTES} bytes`)
  return undefined
}

/**
 * The id in a field, if there is one. Some clients send numbers, whose digits are all kept. What is no id is returned as
 * it is, and refused later.
 */
export const idIn = (from: JsonObject, field: string): unknown => {
  const value = from[field]
  if (!isGiven(value) || value === '') return undefined
  if (typeof value !== 'number' || !Number.isFinite(value)) return value
  return numberSource(from, field) ?? `${value}`
}

/** The send time in a field. One that cannot be used is a warning. */
export const sentAtIn = (value: unknown): SentAt => readSentAt(value === '' ? null : value)

/** Traits that fit, and problems with those that do not. The others are taken all the same. */
export const fittingTraits = (
  sent: JsonObject,
  depth: number,
): { traits: JsonObject; problems: ValidationItem[] } => {
  const problems: ValidationItem[] = []
  const entries = Object.entries(sent).filter(([name, value]) => {
    if (!isDeeperThan(value, depth - 1)) return true
    problems.push(
      structural(`traits.${shown(name)}`, `is nested deeper than ${depth} levels of traits; it is left out`),
    )
    return false
  })
  const traits = Object.fromEntries(entries)
  const bytes = Buffer.byteLength(JSON.stringify(traits))
  if (bytes <= MAX_TRAITS_BYTES) return { traits, problems }
  problems.push(
    structural('traits', `take ${bytes} bytes, and ${MAX_TRAITS_BYTES} are allowed; all are left out`),
  )
  return { traits: {}, problems }
}
const MAX_SHOWN_LENGTH = 64
const shown = (name: string): string => name.slice(0, MAX_SHOWN_LENGTH).toWellFormed()

/** An id for the quarantine, if it is short text. */
export const usableText = (value: unknown): string | undefined =>
  typeof value === 'string' && value.length <= MAX_ID_LENGTH ? value : undefined

/** Too large or too deep to be stored. An object is left out, since its beginning may be traits. */
export const withoutContent = (raw: unknown): JsonObject => (isObject(raw) ? {} : { message: sampleOf(raw) })
