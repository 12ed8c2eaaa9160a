import { hash } from 'node:crypto'
import type { Decision } from '@waymark/contracts/decision-definition'
import {
  type DecisionSet,
  effectiveTime,
  inEachEnvironment,
  isPublished,
  rampStepsOf,
  stateOf,
} from '@waymark/domain/decision'

/** A version, and the time in ms since the epoch until which it holds: that of the next step of `timesOf`. */
type Version = { text: string; until: number }

const versions = new WeakMap<DecisionSet, Version>()

/**
 * Identifies what the published decisions decide in all environments at the time `at`, in ms since the epoch. It changes
 * with each change of one or of a segment, when a schedule starts or ends, and with each step of a ramp. It is the same
 * in every process.
 */
export const flagsVersionOf = (decisions: DecisionSet, at: number): string => {
  const known = versions.get(decisions)
  if (known && at < known.until) return known.text
  const published = decisions.all
    .filter((decision) => inEachEnvironment(decision).some(isPublished))
    .map((decision) => ({ decision, times: timesOf(decision) }))
  const parts = published.map(({ decision: { id, version }, times }) => {
    const passed = times.filter((time) => time <= at).length
    return `${id}:${version}:${passed}`
  })
  const version = {
    text: hash('sha256', JSON.stringify([parts, decisions.segments.all]), 'base64url').slice(0, 22),
    // There may be more steps of ramps than a function takes arguments.
    until: published
      .flatMap(({ times }) => times)
      .reduce((next, time) => (time > at && time < next ? time : next), Number.POSITIVE_INFINITY),
  }
  versions.set(decisions, version)
  return version.text
}

/** When the schedule of a decision starts and ends, as far as it is set, and the steps of ramps in any environment. */
const timesOf = (decision: Decision): number[] => {
  const { schedule, bucketing } = decision.definition
  const { startsAt, endsAt } = schedule ?? {}
  const steps = inEachEnvironment(decision).flatMap((one) =>
    one.definition.rules.flatMap((rule) => rampStepsOf(rule, stateOf(one, rule.id)).map(({ at }) => at)),
  )
  const times = [startsAt, endsAt].flatMap((time) => (time ? new Date(time).getTime() : []))
  return [...times, ...steps].map((time) => effectiveTime(time, bucketing))
}
