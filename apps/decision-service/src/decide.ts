import { hash } from 'node:crypto'
import type { RateLimiter } from '@waymark/cache'
import type { Decision } from '@waymark/contracts/decision-definition'
import type { Decided, DecideResult } from '@waymark/contracts/http/decide'
import {
  type Choice,
  type CompiledDecision,
  countingIdOf,
  countsOf,
  createDecider,
  type DecisionSet,
  type Subject,
  subjectOf,
  targetingKeyOf,
} from '@waymark/domain/decision'
import { type Identity, profileIdOf } from '@waymark/domain/identity'
import type { DecisionSubject, Expose, Person } from '@waymark/pipeline'
import type { ProjectConfigs } from '@waymark/project-config'
import { LoopTurns } from '@waymark/service-kit'
import { cappedResult, resultOf, unknownKeyResult } from './decision-results.ts'
import type { FindPerson, FoundPerson } from './find-person.ts'
import type { AssignVariantCoupon, CouponResult } from './variant-coupon.ts'

/** The subject and the decisions of a request; at least one of the ids is set. */
type DecisionRequest = {
  projectId: string
  /** The environment whose rules apply: that of the API key. */
  environment: string
  visitorId: string | null
  userId: string | null
  context: Record<string, unknown>
  /** Keys of decisions, or a function that selects decisions of the project. */
  which: readonly string[] | ((decisions: DecisionSet) => readonly Decision[])
  /** Whether the person sees the result: counts exposures and caps, and assigns coupons. */
  shown: boolean
}

type DecideDeps = {
  projectConfigs: ProjectConfigs
  findPerson: FindPerson
  /** Creates the profile of an identity without one. */
  createProfile: (identity: Identity) => Promise<string | null>
  frequencyCaps: RateLimiter
  assignVariantCoupon: AssignVariantCoupon
  expose: Expose
  /** Notes that a request asked for a decision. */
  noteEvaluated: (decisionId: string) => void
  clock: () => number
}

/** The subject of a decision, with the key of its frequency caps. */
type CappedSubject = DecisionSubject & { capName: () => string }
type FrequencyCap = NonNullable<Decision['definition']['frequencyCap']>
type Capped = { capped: boolean; localOnly: boolean }
type ShownDecision = { decided: Decided; localOnly: boolean }

/**
 * Makes decisions with cached rules. If the person cannot be read in time, the answer is `degraded`.
 * @throws AppError store_unavailable when the project is not cached and no store answers
 */
export const createDecide = (deps: DecideDeps) => {
  const { projectConfigs, findPerson, frequencyCaps, assignVariantCoupon, createProfile, clock } = deps
  const { expose, noteEvaluated } = deps

  const find = async (
    request: DecisionRequest,
    countedEvents: ReadonlySet<string>,
  ): Promise<{ subject: Subject; person: Person | undefined; late: boolean }> => {
    const { projectId, visitorId, userId } = request
    const lookUp = (kind: 'visitor' | 'user', value: string | null): Promise<FoundPerson> | FoundPerson =>
      value === null ? NOBODY : findPerson({ projectId, kind, value, countedEvents })
    const [visitor, user] = await Promise.all([lookUp('visitor', visitorId), lookUp('user', userId)])
    const subject = subjectOf(request, visitor.person, user.person)
    if (!subject) throw new Error('A decision needs a visitor or a user')
    const person = [user.person, visitor.person].find((one) => one && one.profileId === subject.profileId)
    return { subject, person, late: visitor.late || user.late }
  }

  const cap = async (
    limit: FrequencyCap,
    { decision }: CompiledDecision,
    { capName }: CappedSubject,
  ): Promise<Capped> => {
    const counting = countingIdOf(decision.id, decision.environment)
    const use = { bucket: 'decision-cap', key: `${counting}:${capName()}` }
    const { allowed, localOnly } = await frequencyCaps.consume({
      ...use,
      limit: limit.count,
      windowMs: limit.windowSeconds * 1_000,
    })
    return { capped: !allowed, localOnly: localOnly === true }
  }

  const couponFor = async (poolId: string, decisionSubject: DecisionSubject): Promise<CouponResult> => {
    try {
      const profileId = decisionSubject.profileId ?? (await createProfile(decisionSubject.identity))
      return profileId === null
        ? NO_COUPON
        : await assignVariantCoupon(decisionSubject.projectId, poolId, profileId)
    } catch {
      return NO_COUPON
    }
  }

  /** Applies a choice that the person sees: cap, exposure and coupon. At once, unless one of them needs a store. */
  const show = (
    compiled: CompiledDecision,
    choice: Choice,
    decisionSubject: CappedSubject,
  ): ShownDecision | Promise<ShownDecision> => {
    const { frequencyCap } = compiled.decision.definition
    if (choice.ruleId === null || frequencyCap === null)
      return showUncapped(compiled, choice, decisionSubject, false)
    return showCapped(frequencyCap, compiled, choice, decisionSubject)
  }

  const showCapped = async (
    limit: FrequencyCap,
    compiled: CompiledDecision,
    choice: Choice,
    decisionSubject: CappedSubject,
  ): Promise<ShownDecision> => {
    const { capped, localOnly } = await cap(limit, compiled, decisionSubject)
    if (capped) return { decided: cappedResult(compiled), localOnly }
    return showUncapped(compiled, choice, decisionSubject, localOnly)
  }

  const showUncapped = (
    compiled: CompiledDecision,
    choice: Choice,
    decisionSubject: DecisionSubject,
    localOnly: boolean,
  ): ShownDecision | Promise<ShownDecision> => {
    if (choice.eligible) expose(compiled, choice, decisionSubject)
    const decided = resultOf(compiled, choice)
    const poolId = compiled.variants.get(choice.variant)?.couponPoolId ?? null
    if (poolId === null) return { decided, localOnly }
    if (choice.reason === 'DISABLED') return { decided: { ...decided, ...NOT_DECIDING }, localOnly }
    return couponFor(poolId, decisionSubject).then((coupon) => ({
      decided: { ...decided, ...coupon },
      localOnly,
    }))
  }

  return async (request: DecisionRequest): Promise<DecideResult> => {
    const { projectId, environment, which, context, shown } = request
    const config = await projectConfigs.get(projectId)
    const decisions = config.decisions.in(environment)
    const { subject, person, late } = await find(request, decisions.readEvents)
    const now = clock()
    const days = person?.counts ?? []
    const data = {
      traits: person?.traits ?? {},
      context,
      counts: countsOf(decisions.counts, days, now),
    }
    const decider = createDecider(decisions, {
      projectId,
      subject: subject.subject,
      targetingKey: targetingKeyOf(request),
      data,
      days,
      now,
    })
    const decidedAt = new Date(now).toISOString()
    const decisionSubject = { ...subject, projectId, decidedAt, capName: capNameOf(subject) }
    const keys = typeof which === 'function' ? which(decisions).map(({ key }) => key) : which
    const turns = new LoopTurns()
    for (const key of decisions.withPrerequisites(keys)) {
      // Rules are compiled when first needed, which takes milliseconds for large ones.
      const compiled = decisions.get(key)
      if (compiled) noteEvaluated(compiled.decision.id)
      if (turns.isOver()) await turns.next()
    }
    const choices = new Map<string, { compiled: CompiledDecision; choice: Choice }>()
    for (const key of keys) {
      // Long conditions take milliseconds, too.
      if (turns.isOver()) await turns.next()
      const compiled = decisions.get(key)
      if (compiled) choices.set(key, { compiled, choice: decider.decide(compiled) })
    }
    const results = await Promise.all(
      keys.map((key) => {
        const made = choices.get(key)
        if (!made) return { decided: unknownKeyResult(key), localOnly: false }
        return shown
          ? show(made.compiled, made.choice, decisionSubject)
          : { decided: resultOf(made.compiled, made.choice), localOnly: false }
      }),
    )
    const degraded = late || decider.exceeded() || results.some(({ localOnly }) => localOnly)
    return {
      decisions: results.map(({ decided }) => decided),
      evaluatedAt: decidedAt,
      ...(degraded && { degraded }),
    }
  }
}

/**
 * The key of a person for frequency caps, computed on first use. It is a hash, because counts outlive an erasure. An unknown
 * person gets the key of the profile that would be created.
 */
const capNameOf = ({ profileId, identity }: Subject): (() => string) => {
  let name: string | undefined
  return () => {
    name ??= hash('sha256', profileId ?? profileIdOf(identity), 'base64url')
    return name
  }
}

export type Decide = ReturnType<typeof createDecide>

const NOBODY: FoundPerson = { person: undefined, late: false }
const NO_COUPON: CouponResult = { coupon: null, couponReason: 'unavailable' }
const NOT_DECIDING: CouponResult = { coupon: null, couponReason: 'disabled' }
