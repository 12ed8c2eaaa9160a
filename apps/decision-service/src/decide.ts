import { hash } from 'node:crypto'
import type { RateLimiter } from '@waymark/cache'
import type { Decided, DecideResult, Decision } from '@waymark/contracts'
import {
  type Choice,
  type CompiledDecision,
  countsOf,
  createDecider,
  type DecisionSet,
  type Identity,
  profileIdOf,
  type Subject,
  subjectOf,
} from '@waymark/domain'
import type { Person } from '@waymark/pipeline'
import type { ProjectConfigs } from '@waymark/project-config'
import { LoopTurns } from '@waymark/service-kit'
import { type Asker, cappedBy, decidedBy, unknownKey } from './answers.ts'
import type { Expose } from './expose.ts'
import type { FindPerson, FoundPerson } from './find-person.ts'
import type { CouponAnswer, GiveCoupon } from './give-coupon.ts'

/** The subject and the decisions of a request; at least one of the ids is set. */
type DecisionQuestion = {
  projectId: string
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
  giveCoupon: GiveCoupon
  expose: Expose
  clock: () => number
}

/** An asker, with the key of frequency caps. */
type CappedAsker = Asker & { capName: () => string }
type Capped = { capped: boolean; localOnly: boolean }
type ShownDecision = { decided: Decided; localOnly: boolean }

/**
 * Makes decisions with cached rules. If the person cannot be read in time, the answer is `degraded`.
 * @throws AppError store_unavailable when the project is not cached and no store answers
 */
export const createDecide = (deps: DecideDeps) => {
  const { projectConfigs, findPerson, frequencyCaps, giveCoupon, createProfile, expose, clock } = deps

  const find = async (
    question: DecisionQuestion,
    countedEvents: ReadonlySet<string>,
  ): Promise<{ subject: Subject; person: Person | undefined; late: boolean }> => {
    const { projectId, visitorId, userId } = question
    const look = (kind: 'visitor' | 'user', value: string | null): Promise<FoundPerson> | FoundPerson =>
      value === null ? NOBODY : findPerson({ projectId, kind, value, countedEvents })
    const [visitor, user] = await Promise.all([look('visitor', visitorId), look('user', userId)])
    const subject = subjectOf(question, visitor.person, user.person)
    if (!subject) throw new Error('a decision needs a visitor or a user')
    const person = [user.person, visitor.person].find((one) => one && one.profileId === subject.profileId)
    return { subject, person, late: visitor.late || user.late }
  }

  const cap = async ({ decision }: CompiledDecision, { capName }: CappedAsker): Promise<Capped> => {
    const limit = decision.definition.frequencyCap
    if (limit === null) return NOT_CAPPED
    const use = { bucket: 'decision-cap', key: `${decision.id}:${capName()}` }
    const { allowed, localOnly } = await frequencyCaps.consume({
      ...use,
      limit: limit.count,
      windowMs: limit.windowSeconds * 1_000,
    })
    return { capped: !allowed, localOnly: localOnly === true }
  }

  const couponFor = async (poolId: string, asker: Asker): Promise<CouponAnswer> => {
    try {
      const profileId = asker.profileId ?? (await createProfile(asker.identity))
      return profileId === null ? NO_COUPON : await giveCoupon(asker.projectId, poolId, profileId)
    } catch {
      return NO_COUPON
    }
  }

  /** Applies a choice that the person sees: cap, exposure and coupon. */
  const show = async (
    compiled: CompiledDecision,
    choice: Choice,
    asker: CappedAsker,
  ): Promise<ShownDecision> => {
    const { capped, localOnly } = choice.ruleId === null ? NOT_CAPPED : await cap(compiled, asker)
    if (capped) return { decided: cappedBy(compiled), localOnly }
    if (choice.eligible) expose(compiled, choice, asker)
    const decided = decidedBy(compiled, choice)
    const poolId = compiled.variants.get(choice.variant)?.couponPoolId ?? null
    if (poolId === null) return { decided, localOnly }
    const answer = choice.reason === 'DISABLED' ? NOT_DECIDING : await couponFor(poolId, asker)
    return { decided: { ...decided, ...answer }, localOnly }
  }

  return async (question: DecisionQuestion): Promise<DecideResult> => {
    const { projectId, which, context, shown } = question
    const { decisions } = await projectConfigs.get(projectId)
    const { subject, person, late } = await find(question, decisions.countedEvents)
    const now = clock()
    const data = {
      traits: person?.traits ?? {},
      context,
      counts: countsOf(decisions.counts, person?.counts ?? [], now),
    }
    const decider = createDecider(decisions, { projectId, subject: subject.subject, data, now })
    const decidedAt = new Date(now).toISOString()
    const asker = { ...subject, projectId, decidedAt, capName: capNameOf(subject) }
    const keys = typeof which === 'function' ? which(decisions).map(({ key }) => key) : which
    const turns = new LoopTurns()
    for (const key of decisions.withPrerequisites(keys)) {
      // Rules are compiled when first needed, which takes milliseconds for large ones.
      decisions.get(key)
      if (turns.isOver()) await turns.next()
    }
    const answers = await Promise.all(
      keys.map((key) => {
        const compiled = decisions.get(key)
        if (!compiled) return { decided: unknownKey(key), localOnly: false }
        const choice = decider.decide(compiled)
        return shown
          ? show(compiled, choice, asker)
          : { decided: decidedBy(compiled, choice), localOnly: false }
      }),
    )
    const degraded = late || decider.exceeded() || answers.some(({ localOnly }) => localOnly)
    return {
      decisions: answers.map(({ decided }) => decided),
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
const NOT_CAPPED: Capped = { capped: false, localOnly: false }
const NO_COUPON: CouponAnswer = { coupon: null, couponReason: 'unavailable' }
const NOT_DECIDING: CouponAnswer = { coupon: null, couponReason: 'disabled' }
