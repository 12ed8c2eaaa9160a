import type { Decision, DecisionDefinition } from '@waymark/contracts/decision-definition'
import { WorkBudget } from '../logic/work-budget.ts'
import type { CompiledDecision, DecisionSet } from './compiled-decision.ts'
import { type CountRef, countsOf, type DayCount } from './condition.ts'
import { type Choice, createDecider } from './decide.ts'

/** An event of a person, at its time in ms since the epoch. */
export type BacktestEvent = { at: number; eventName: string; bot: boolean }

/** What is the same for all people of a backtest. */
export type Backtest = {
  projectId: string
  decisions: DecisionSet
  compiled: CompiledDecision
  /** The counts that conditions read. */
  counts: readonly CountRef[]
  /** The events that counts and segments count. */
  countedEvents: ReadonlySet<string>
  context: Readonly<Record<string, unknown>>
  /** Whether the decision is made at an event. */
  decidesAt: (event: BacktestEvent) => boolean
}

/** A person as they are known now, with their events in the order of time. */
export type BacktestPerson = {
  /** The value that is hashed. */
  subject: string
  traits: Readonly<Record<string, unknown>>
  events: readonly BacktestEvent[]
}

/** What the person would have got at a time, in ms since the epoch. `steps` is the work on its conditions. */
export type Replayed = { at: number; choice: Choice; capped: boolean; steps: number }

/**
 * Makes a decision for one person at each of their events, as if it had been active and within its schedule all the time.
 * The event itself and those before it are counted.
 */
export function* replayDecision(
  { projectId, decisions, compiled, counts, countedEvents, context, decidesAt }: Backtest,
  { subject, traits, events }: BacktestPerson,
): Generator<Replayed, void, undefined> {
  const allows = createFrequencyCap(compiled.decision.definition.frequencyCap)
  const counted = createDayCounts()
  for (const event of events) {
    if (countedEvents.has(event.eventName)) counted.add(event)
    if (!decidesAt(event)) continue
    const { at } = event
    const days = counted.days
    const data = { traits, context, counts: countsOf(counts, days, at) }
    const budget = new WorkBudget()
    const before = budget.left
    const choice = createDecider(
      decisions,
      { projectId, subject, data, days, now: at },
      budget,
    ).decideAsIfActive(compiled)
    const capped = choice.ruleId !== null && !allows(at)
    yield { at, choice, capped, steps: before - budget.left }
  }
}

/** Counts the events of a person by day (UTC). */
const createDayCounts = () => {
  const days: DayCount[] = []
  const known = new Map<string, DayCount>()
  return {
    days,
    add: ({ at, eventName }: BacktestEvent): void => {
      const day = new Date(at).toISOString().slice(0, 10)
      const key = `${day} ${eventName}`
      const count = known.get(key) ?? { event: eventName, day, n: 0 }
      if (count.n === 0) {
        known.set(key, count)
        days.push(count)
      }
      count.n += 1
    },
  }
}

/** Counts uses in windows that begin with the first use after the last window. Times in ms, in order. */
const createFrequencyCap = (limit: DecisionDefinition['frequencyCap']): ((at: number) => boolean) => {
  if (limit === null) return () => true
  let endsAt = Number.NEGATIVE_INFINITY
  let used = 0
  return (at) => {
    if (at >= endsAt) [endsAt, used] = [at + limit.windowSeconds * 1_000, 0]
    if (used >= limit.count) return false
    used += 1
    return true
  }
}

type Tallied = { people: number; evaluations: number }
type Outcome = Tallied & { reason: Choice['reason']; ruleId: string | null }
type Variant = Tallied & { variant: string; outcomes: Map<string, Outcome>; sample: string[] }

/** Adds up what people would have got. Each person counts once for each variant. `sampleSize`: people to name of each. */
export const createBacktestTally = (
  { variants: keys }: Pick<DecisionDefinition, 'variants'>,
  sampleSize: number,
) => {
  const variants = new Map<string, Variant>(
    keys.map(({ key }) => [
      key,
      { variant: key, people: 0, evaluations: 0, outcomes: new Map(), sample: [] },
    ]),
  )
  const total = { people: 0, evaluations: 0 }
  const capped = { people: 0, evaluations: 0 }
  let severalVariants = 0

  const addPerson = (profileId: string, replayed: readonly Replayed[]): void => {
    if (replayed.length === 0) return
    total.people += 1
    total.evaluations += replayed.length
    const cappedOnes = replayed.filter((one) => one.capped)
    capped.evaluations += cappedOnes.length
    if (cappedOnes.length > 0) capped.people += 1
    const seen = new Set<Tallied>()
    const count = (tallied: Tallied): void => {
      tallied.evaluations += 1
      if (seen.has(tallied)) return
      seen.add(tallied)
      tallied.people += 1
    }
    for (const { choice } of replayed.filter((one) => !one.capped)) {
      const variant = variants.get(choice.variant)
      if (!variant) continue
      if (!seen.has(variant) && variant.sample.length < sampleSize) variant.sample.push(profileId)
      count(variant)
      count(outcomeIn(variant, choice))
    }
    if ([...variants.values()].filter((variant) => seen.has(variant)).length > 1) severalVariants += 1
  }

  return {
    addPerson,
    result: () => ({
      ...total,
      severalVariants,
      capped,
      variants: [...variants.values()].map((variant) => ({
        ...variant,
        outcomes: [...variant.outcomes.values()],
      })),
    }),
  }
}

const outcomeIn = ({ outcomes }: Variant, { reason, ruleId }: Choice): Outcome => {
  const key = `${reason} ${ruleId}`
  const outcome = outcomes.get(key) ?? { reason, ruleId, people: 0, evaluations: 0 }
  outcomes.set(key, outcome)
  return outcome
}

/** The rules of a decision whose ramp begins at `end` (ms since the epoch) or later, so that it gave nobody anything. */
export const rulesBefore = (decision: Decision, end: number): string[] =>
  decision.definition.rules
    .filter(({ ramp }) => ramp?.every(({ at }) => Date.parse(at) >= end))
    .map(({ id }) => id)
