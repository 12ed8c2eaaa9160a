import { AppError } from '@waymark/contracts/app-error'
import type {
  Decision,
  DecisionGuard,
  DecisionMetric,
  DecisionRule,
  GuardAction,
  RuleState,
  RuleStop,
} from '@waymark/contracts/decision-definition'
import { PRODUCTION } from '@waymark/contracts/environment'
import type { Prisma } from '@waymark/database'
import {
  compileDecision,
  controlOf,
  countingIdOf,
  currentStepOf,
  inEachEnvironment,
  isDeciding,
  rampStepsOf,
  rolloutAt,
  stateOf,
  withState,
} from '@waymark/domain/decision'
import { type CheckedGuard, checkGuard } from '@waymark/domain/experiment'
import { SYSTEM } from '@waymark/pipeline'
import { drain, type Loop, type Platform } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { auditInTransaction } from '../audit/audit-log.ts'
import type { Quotas } from '../quotas.ts'
import { changeDecisionIn, lockDecisions, toDecision, withStatus } from './decision-rows.ts'
import {
  findDueGuards,
  findResponsible,
  type GuardSamples,
  readGuardSamples,
  stratumOf,
} from './guard-queries.ts'

const INTERVAL_MS = 5_000
/** From the start of an evaluation to the next one of the same decision. */
export const EVALUATE_EVERY_MS = 4 * 60_000
/** When an evaluation counts as lost, because its process was killed. */
const LEASE_MS = 60_000
/** How long the evaluation of a rule may take. */
const TIMEOUT_MS = 25_000
/** Most decisions of one batch. */
const BATCH = 20

type GuardDeps = Pick<Platform, 'db' | 'clock' | 'eventStore' | 'log'> & { quotas: Quotas }

/** Evaluates guards. Every process does: a claim makes one of them evaluate a decision. */
export const evaluateGuards = (deps: GuardDeps): Loop =>
  drain('guards', INTERVAL_MS, (signal) => evaluateDueGuards(deps, signal))

/**
 * Evaluates the guards of a batch of decisions that are due. One that fails is evaluated again at its next time.
 * @returns the number of decisions in the batch
 * @throws the first error, after the other decisions
 */
export const evaluateDueGuards = async (deps: GuardDeps, signal: AbortSignal): Promise<number> => {
  const ids = await findDueGuards(deps.db.prisma, new Date(deps.clock()), BATCH)
  const errors: unknown[] = []
  for (const id of ids) {
    if (signal.aborted) break
    await evaluateDecision(deps, id, signal).catch((error) => errors.push(error))
  }
  if (errors.length > 0) throw errors[0]
  return ids.length
}

const evaluateDecision = async (deps: GuardDeps, id: string, signal: AbortSignal): Promise<void> => {
  const { db, clock } = deps
  const now = clock()
  const lease = new Date(now + LEASE_MS)
  const claimed = await db.prisma.decision.updateMany({
    where: { id, guardsDueAt: { lte: new Date(now) } },
    data: { guardsDueAt: lease },
  })
  if (claimed.count === 0) return
  const decision = toDecision(await db.prisma.decision.findUniqueOrThrow({ where: { id } }))
  const active = inEachEnvironment(decision).filter(({ status }) => status === 'active')
  try {
    for (const one of active) if (isDeciding(compileDecision(one), now)) await evaluateIn(deps, one, signal)
  } finally {
    // Not when a change of the decision has made it due again meanwhile.
    const next = active.length > 0 ? new Date(now + EVALUATE_EVERY_MS) : null
    await db.prisma.decision.updateMany({ where: { id, guardsDueAt: lease }, data: { guardsDueAt: next } })
  }
}

const evaluateIn = async (deps: GuardDeps, decision: Decision, signal: AbortSignal): Promise<void> => {
  for (const rule of decision.definition.rules) {
    const guarded = guardedRuleOf(decision, rule)
    if (guarded === undefined) continue
    const measured = await measure(deps, guarded, signal)
    if (measured === undefined) continue
    const stop = stopFor(guarded, measured, deps.clock())
    const made = stop
      ? await applyStop(deps, guarded, stop)
      : await beginNextStep(deps, guarded, measured, deps.clock())
    // The other rules are those of an older version now: they have their turn at once.
    if (made) return
  }
}

/** A rule whose guards are evaluated. */
type GuardedRule = {
  decision: Decision
  environment: string
  rule: DecisionRule
  guards: readonly { guard: DecisionGuard; metric: DecisionMetric }[]
  state: RuleState
  control: string
  /** The variants that are compared with the control. */
  variants: readonly string[]
}

/** A rule with what its guards compare. Undefined when it has none that could still do something. */
const guardedRuleOf = (decision: Decision, rule: DecisionRule): GuardedRule | undefined => {
  const { definition, environment = PRODUCTION } = decision
  const state = stateOf(decision, rule.id)
  if (!rule.guards || !state) return undefined
  const control = controlOf(rule, definition.fallbackVariant)
  const shares = (rule.split ?? []).filter(({ weight }) => weight > 0).map(({ variant }) => variant)
  const guards = rule.guards.flatMap((guard) => {
    const metric = definition.metrics?.find(({ key }) => key === guard.metric)
    // What is held may still become worse.
    const isStronger = !state.stop || STRENGTH[guard.action] > STRENGTH[state.stop.action]
    return metric && isStronger ? [{ guard, metric }] : []
  })
  if (guards.length === 0) return undefined
  const variants = rule.variant === null ? shares.filter((variant) => variant !== control) : [rule.variant]
  return { decision, environment, rule, guards, state, control, variants }
}

const STRENGTH: Record<GuardAction, number> = { hold: 1, rollback: 2, pause: 3 }

/** The samples of a rule, and its comparisons. */
type Measured = { samples: GuardSamples; checked: Comparison[] }
type Comparison = { guard: DecisionGuard; variant: string; result: CheckedGuard }

/** Compares what is known of a rule. Undefined before its ramp has begun. */
const measure = async (
  { db, eventStore, clock }: GuardDeps,
  { decision, environment, rule, guards, state, control, variants }: GuardedRule,
  signal: AbortSignal,
): Promise<Measured | undefined> => {
  const now = clock()
  const starts = strataOf(rule, state, now)
  if (starts.length === 0) return undefined
  const events = eventStore.queriesUntil(AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]))
  const samples = await readGuardSamples(
    { pool: db.pool, events },
    {
      projectId: decision.projectId,
      countingId: countingIdOf(decision.id, environment),
      ruleId: rule.id,
      control,
      isRamp: rule.variant !== null,
      starts,
    },
    guards.map(({ metric }) => metric),
    TIMEOUT_MS,
  )
  const comparisons = (rule.guards?.length ?? 1) * variants.length
  const checked = guards.flatMap(({ guard, metric: { goal } }, index) =>
    variants.map((variant): Comparison => {
      const strata = (samples.metrics[index] ?? []).map((one) => stratumOf(one, variant, control))
      return {
        guard,
        variant,
        result: checkGuard(strata, { goal, worseThan: guard.worseThan }, comparisons),
      }
    }),
  )
  return { samples, checked }
}

/** When the shares of a rule changed since its people count, in ms since the epoch. Empty before its ramp. */
const strataOf = (rule: DecisionRule, state: RuleState, now: number): number[] => {
  const since = Date.parse(state.countedFrom)
  if (!rule.ramp) return [since]
  const begun = rampStepsOf(rule, state).filter(({ at }) => at <= now)
  if (begun.length === 0) return []
  return [...new Set(begun.map(({ at }) => Math.max(at, since)))]
}

/** What the strongest guard does whose metric is worse. Undefined when none is. */
const stopFor = (
  { decision, rule, control }: GuardedRule,
  { checked }: Measured,
  now: number,
): RuleStop | undefined => {
  const [worst] = checked
    .filter(({ result }) => result.verdict === 'worse')
    .sort((a, b) => STRENGTH[b.guard.action] - STRENGTH[a.guard.action])
  if (!worst) return undefined
  const compiled = compileDecision(decision).rules.find((one) => one.rule.id === rule.id)
  const { people, value, lift, interval } = worst.result
  return {
    ...worst.guard,
    at: new Date(now).toISOString(),
    variant: worst.variant,
    control,
    percentage: compiled ? rolloutAt(compiled, now) : 0,
    people,
    value,
    lift,
    interval,
  }
}

/** Stops a rule. Version, evidence, audit entry, webhook message and email are one transaction, so that it happens once. */
const applyStop = (deps: GuardDeps, guarded: GuardedRule, stop: RuleStop): Promise<boolean> => {
  const { decision, environment, rule, state } = guarded
  const { projectId, id: decisionId, key } = decision
  const evidence = { environment, ruleId: rule.id, ...stop }
  return changeUnlessChanged(deps, decision, async (tx) => {
    await changeDecisionIn(tx, refOf(decision), deps.quotas, ({ definition, states }) => ({
      change: 'stopped',
      parts: null,
      ...(stop.action === 'pause' ? withStatus(definition, environment, 'paused') : { status: null }),
      states: withState(states, environment, rule.id, { ...state, stop }),
      evidence,
    }))
    await auditInTransaction(tx, projectId, {
      operation: 'stopDecision',
      resourceId: key,
      at: new Date(stop.at),
    })
    const recipient = await findResponsible(tx, projectId, decisionId)
    if (recipient === undefined) return
    await tx.stopNotice.create({
      data: { id: uuidv7(), projectId, decisionId, recipient, evidence: evidence as Prisma.InputJsonObject },
    })
  })
}

/** Begins the next step of a ramp whose present step has its people and whose guards are all fine. */
const beginNextStep = async (
  deps: GuardDeps,
  { decision, environment, rule, state, control, variants }: GuardedRule,
  { samples, checked }: Measured,
  now: number,
): Promise<boolean> => {
  const step = currentStepOf(rule, state, now)
  if (state.stop || !step) return false
  const minPeople = rule.ramp?.[step.index]?.minPeople
  const next = rule.ramp?.[step.index + 1]
  if (minPeople === undefined || !next || state.begun?.[step.index + 1] !== undefined) return false
  if (Date.parse(next.at) + (state.delayMs ?? 0) > now) return false
  const people = Object.fromEntries(
    [control, ...variants].map((variant) => [variant, samples.people.at(-1)?.get(variant) ?? 0]),
  )
  if (Object.values(people).some((count) => count < minPeople)) return false
  if (checked.some(({ result }) => result.verdict !== 'fine')) return false
  const at = new Date(now).toISOString()
  const begun = { ...state.begun, [step.index + 1]: at }
  return changeUnlessChanged(deps, decision, async (tx) => {
    await changeDecisionIn(tx, refOf(decision), deps.quotas, ({ states }) => ({
      change: 'advanced',
      status: null,
      parts: null,
      states: withState(states, environment, rule.id, { ...state, begun }),
      evidence: {
        environment,
        ruleId: rule.id,
        step: step.index + 1,
        percentage: next.percentage,
        at,
        people,
        guards: checked.map(({ guard, variant, result: { lift, interval } }) => ({
          ...guard,
          variant,
          lift,
          interval,
        })),
      },
    }))
    await auditInTransaction(tx, decision.projectId, {
      operation: 'advanceDecision',
      resourceId: decision.key,
      at: new Date(now),
    })
  })
}

const refOf = ({ projectId, key, version }: Decision) => ({
  projectId,
  key,
  version,
  actor: SYSTEM,
  approved: true as const,
})

/** Changes a decision. False when it has changed since it was read: its guards are due again then. */
const changeUnlessChanged = async (
  { db }: GuardDeps,
  { projectId }: Decision,
  change: (tx: Prisma.TransactionClient) => Promise<void>,
): Promise<boolean> => {
  try {
    await db.prisma.$transaction(async (tx) => {
      await lockDecisions(tx, projectId)
      await change(tx)
    })
    return true
  } catch (error) {
    if (error instanceof AppError && CHANGED.has(error.code)) return false
    throw error
  }
}
const CHANGED: ReadonlySet<string> = new Set(['precondition_failed', 'conflict', 'not_found'])
