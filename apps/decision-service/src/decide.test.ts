import { createMemoryCache, createMemoryRateLimiter } from '@waymark/cache'
import type { Decision } from '@waymark/contracts/decision-definition'
import type { Exposure } from '@waymark/contracts/records/change-records'
import {
  compileDecision,
  compileSegment,
  createDecisionSet,
  createSegmentSet,
  type Segment,
} from '@waymark/domain/decision'
import { profileIdOf } from '@waymark/domain/identity'
import { createExpose, type Person, type WantedPerson } from '@waymark/pipeline'
import { createMemoryLog } from '@waymark/testing/unit'
import { describe, expect, it } from 'vitest'
import { createDecide } from './decide.ts'
import { type AssignCoupon, createAssignVariantCoupon } from './variant-coupon.ts'

const PROJECT_ID = '01900000-0000-7000-8000-000000000001'
const POOL = '01900000-0000-7000-8000-000000000009'
const NOW = Date.parse('2026-11-21T12:00:00.000Z')

const aDecision = (key: string, change: Partial<Decision['definition']> = {}): Decision => ({
  id: `01900000-0000-7000-8000-00000000${key.padStart(4, '0')}`,
  projectId: PROJECT_ID,
  key,
  status: 'active',
  version: 1,
  definition: {
    name: null,
    description: null,
    variants: [
      { key: 'off', value: 0, couponPoolId: null },
      { key: 'on', value: 1, couponPoolId: null },
      { key: 'gift', value: 2, couponPoolId: POOL },
    ],
    fallbackVariant: 'off',
    rules: [
      {
        id: 'r',
        description: null,
        condition: null,
        prerequisites: [],
        rollout: 100,
        variant: 'on',
        split: null,
      },
    ],
    holdout: 0,
    frequencyCap: null,
    schedule: null,
    exclusionGroup: null,
    salt: 'salt',
    ...change,
  },
})
const giving = (variant: string) => aDecision('0').definition.rules.map((rule) => ({ ...rule, variant }))

type Options = {
  decisions: Decision[]
  segments?: Segment[]
  late?: boolean
  person?: Person
  assignCoupon?: AssignCoupon
  localOnly?: boolean
}

const setUp = ({
  decisions,
  segments = [],
  late = false,
  person,
  assignCoupon,
  localOnly = false,
}: Options) => {
  const lookedUp: WantedPerson[] = []
  const exposed: Exposure[] = []
  const assigned: string[] = []
  const counted: string[] = []
  const evaluated: string[] = []
  let known = person
  const caps = createMemoryRateLimiter()
  const set = createDecisionSet(decisions, compileDecision, createSegmentSet(segments, compileSegment))
  const decide = createDecide({
    projectConfigs: { get: async () => ({ decisions: set }) as never },
    findPerson: async (wanted) => {
      lookedUp.push(wanted)
      return { person: known, late }
    },
    createProfile: async ({ value }) => `made for ${value}`,
    frequencyCaps: {
      ...caps,
      consume: async (use) => {
        counted.push(use.key)
        return { ...(await caps.consume(use)), ...(localOnly && { localOnly: true as const }) }
      },
    },
    assignVariantCoupon: createAssignVariantCoupon({
      assignCoupon:
        assignCoupon ??
        (async (_project, pool, profile) => {
          assigned.push(profile)
          return { code: `${pool}/${profile}`, expiresAt: new Date(NOW) }
        }),
      cache: createMemoryCache(),
      log: createMemoryLog(),
    }),
    expose: createExpose({
      add: ({ value }) => {
        exposed.push(value)
        return true
      },
    }),
    noteEvaluated: (id) => evaluated.push(id),
    clock: () => NOW,
  })
  type Asking = { visitorId?: string; userId?: string | null; shown?: boolean; environment?: string }
  const ask = (
    keys: string[],
    { visitorId = 'v', userId = null, shown = true, environment = 'production' }: Asking = {},
  ) => decide({ projectId: PROJECT_ID, environment, visitorId, userId, context: {}, which: keys, shown })
  /** From now on the ids belong to this person. */
  const become = (someone: Partial<Person>) => {
    known = { profileId: 'p', bucketingId: 'v', isUsers: false, traits: {}, counts: [], ...someone }
  }
  return { ask, exposed, assigned, counted, evaluated, become, lookedUp }
}

describe('deciding', () => {
  it('notes the decisions that were asked for, and those that they require', async () => {
    const prerequisites = [{ decision: '2', variants: ['on'] }]
    const rules = giving('on').map((rule) => ({ ...rule, prerequisites }))
    const [asking, required, other] = [aDecision('1', { rules }), aDecision('2'), aDecision('3')]
    const { ask, evaluated } = setUp({ decisions: [asking, required, other] })
    await ask(['1', 'none'], { shown: false })
    expect(evaluated).toEqual([asking.id, required.id])
  })

  it('answers in the order of the keys', async () => {
    const { ask } = setUp({ decisions: [aDecision('1'), aDecision('2')] })
    const { decisions, evaluatedAt, degraded } = await ask(['2', 'nope', '1'])
    expect(decisions.map(({ key, reason }) => [key, reason])).toEqual([
      ['2', 'TARGETING_MATCH'],
      ['nope', 'ERROR'],
      ['1', 'TARGETING_MATCH'],
    ])
    expect(evaluatedAt).toBe('2026-11-21T12:00:00.000Z')
    expect(degraded).toBeUndefined()
  })

  it('reports when the person could not be read in time', async () => {
    const { ask } = setUp({ decisions: [aDecision('1')], late: true })
    expect(await ask(['1'])).toMatchObject({ degraded: true, decisions: [{ variant: 'on' }] })
  })

  it('publishes each shown variant once per day and person', async () => {
    const { ask, exposed } = setUp({ decisions: [aDecision('1'), aDecision('2', { rules: [] })] })
    for (let n = 0; n < 3; n++) await ask(['1', '2'])
    await ask(['1'], { visitorId: 'w' })
    expect(exposed.map(({ decisionKey, variant, visitorId }) => [decisionKey, variant, visitorId])).toEqual([
      ['1', 'on', 'v'],
      ['1', 'on', 'w'],
    ])
  })

  it('publishes and counts nothing when it is not shown', async () => {
    const capped = aDecision('1', { frequencyCap: { count: 1, windowSeconds: 60 }, rules: giving('gift') })
    const { ask, exposed, assigned } = setUp({ decisions: [capped] })
    for (let n = 0; n < 3; n++) {
      const { decisions } = await ask(['1'], { shown: false })
      expect(decisions).toMatchObject([{ variant: 'gift', reason: 'TARGETING_MATCH' }])
    }
    expect([exposed, assigned]).toEqual([[], []])
  })
})

describe('segments', () => {
  const orders = (n: number): Segment => ({
    key: `orders-${n}`,
    condition: { counts: [{ eventName: `order-${n}`, days: 30, op: 'gte', value: 2 }] },
  })
  const ruleFor = (segment: string) =>
    aDecision('0').definition.rules.map((rule) => ({ ...rule, condition: { segment } }))

  it.each([10, 1_000])(
    'reads a person once, and only the events that rules need, of %i segments',
    async (total) => {
      const segments = Array.from({ length: total }, (_, n) => orders(n))
      const decisions = [
        aDecision('1', { rules: ruleFor('orders-1') }),
        aDecision('2', { rules: ruleFor('orders-2') }),
        aDecision('3', { rules: ruleFor('unknown') }),
        { ...aDecision('4', { rules: ruleFor('orders-4') }), status: 'draft' as const },
      ]
      const { ask, become, lookedUp } = setUp({ decisions, segments })
      become({ counts: [{ event: 'order-1', day: '2026-11-01', n: 2 }] })
      const answer = await ask(['1', '2', '3'])
      expect(answer.decisions.map(({ variant }) => variant)).toEqual(['on', 'off', 'off'])
      expect(answer.degraded).toBeUndefined()
      expect(lookedUp.map(({ countedEvents }) => [...countedEvents])).toEqual([['order-1', 'order-2']])
    },
  )
})

describe('an environment', () => {
  it('has its own rules, caps and exposures', async () => {
    const staging = { status: 'active', rules: giving('gift') } as const
    const decision = aDecision('1', {
      frequencyCap: { count: 1, windowSeconds: 60 },
      environments: { staging },
    })
    const { ask, exposed } = setUp({ decisions: [decision] })
    const answersIn = async (environment: string) => {
      const { decisions } = await ask(['1'], { environment })
      return decisions.map(({ variant, reason }) => [variant, reason])
    }
    for (const [environment, variant] of [
      ['production', 'on'],
      ['staging', 'gift'],
    ] as const) {
      expect(await answersIn(environment)).toEqual([[variant, 'TARGETING_MATCH']])
      expect(await answersIn(environment)).toEqual([['off', 'CAPPED']])
    }
    expect(await answersIn('elsewhere')).toEqual([['off', 'DISABLED']])
    expect(exposed.map(({ variant, environment }) => [variant, environment])).toEqual([
      ['on', undefined],
      ['gift', 'staging'],
    ])
  })
})

describe('a frequency cap', () => {
  const capped = aDecision('1', { frequencyCap: { count: 2, windowSeconds: 60 } })

  it('allows the configured number, and then returns the fallback variant', async () => {
    const { ask } = setUp({ decisions: [capped] })
    const reasons: string[] = []
    for (let n = 0; n < 3; n++) reasons.push((await ask(['1'])).decisions[0]?.reason ?? '')
    expect(reasons).toEqual(['TARGETING_MATCH', 'TARGETING_MATCH', 'CAPPED'])
    expect((await ask(['1'])).decisions[0]).toMatchObject({ variant: 'off', value: 0, ruleId: null })
    expect((await ask(['1'], { visitorId: 'w' })).decisions[0]?.reason).toBe('TARGETING_MATCH')
  })

  it('holds under concurrent requests', async () => {
    const { ask } = setUp({ decisions: [capped] })
    const answers = await Promise.all(Array.from({ length: 50 }, () => ask(['1'])))
    expect(answers.filter(({ decisions }) => decisions[0]?.reason !== 'CAPPED')).toHaveLength(2)
  })

  it('keeps the cap when an unknown person gets a profile and signs in', async () => {
    const { ask, become } = setUp({ decisions: [capped] })
    const reasonFor = async (userId: string | null = null) =>
      (await ask(['1'], { userId })).decisions[0]?.reason
    const profileId = profileIdOf({ projectId: PROJECT_ID, kind: 'visitor', value: 'v' })
    const reasons = [await reasonFor()]
    become({ profileId })
    reasons.push(await reasonFor(), await reasonFor())
    become({ profileId, isUsers: true })
    reasons.push(await reasonFor('u'))
    expect(reasons).toEqual(['TARGETING_MATCH', 'TARGETING_MATCH', 'CAPPED', 'CAPPED'])
  })

  it('starts again for a person who returns after an erasure', async () => {
    const { ask, become } = setUp({ decisions: [capped] })
    become({ profileId: 'erased' })
    for (let n = 0; n < 3; n++) await ask(['1'])
    become({ profileId: 'successor' })
    expect((await ask(['1'])).decisions[0]?.reason).toBe('TARGETING_MATCH')
  })

  it('is stored under a hash, not under the ids of people', async () => {
    const { ask, become, counted } = setUp({ decisions: [capped] })
    const visitorId = 'anna@example.com'
    await ask(['1'], { visitorId })
    become({ profileId: 'annas', bucketingId: visitorId })
    await ask(['1'], { visitorId })
    expect(counted).toHaveLength(2)
    expect(counted.filter((key) => /anna/.test(key))).toEqual([])
  })

  it('reports when only this process is counted', async () => {
    const { ask } = setUp({ decisions: [capped], localOnly: true })
    expect(await ask(['1'])).toMatchObject({ degraded: true })
  })
})

describe('a variant with a coupon pool', () => {
  const gift = aDecision('1', { rules: giving('gift') })

  it('assigns one code to a person, even for concurrent requests', async () => {
    const { ask, assigned } = setUp({ decisions: [gift] })
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(['1'])))
    const codes = answers.map(({ decisions }) => decisions[0]?.coupon?.code)
    expect(new Set(codes)).toEqual(new Set([`${POOL}/made for v`]))
    await ask(['1'])
    expect(assigned).toEqual(['made for v'])
  })

  it("assigns it to the person's profile", async () => {
    const person = { profileId: 'known', bucketingId: 'v', isUsers: true, traits: {}, counts: [] }
    const { ask, assigned } = setUp({ decisions: [gift], person })
    await ask(['1'])
    expect(assigned).toEqual(['known'])
  })

  it.each<[string, AssignCoupon, string]>([
    ['when there is none left', async () => ({ reason: 'exhausted' }), 'exhausted'],
    ['when it cannot be assigned', () => Promise.reject(new Error('away')), 'unavailable'],
    ['when that takes too long', () => new Promise(() => {}), 'unavailable'],
  ])('returns the reason when there is none: %s', async (_when, assignCoupon, couponReason) => {
    const { ask } = setUp({ decisions: [gift], assignCoupon })
    expect((await ask(['1'])).decisions[0]).toMatchObject({ variant: 'gift', coupon: null, couponReason })
  })

  it('retries after there was none', async () => {
    let left = 0
    const assignCoupon: AssignCoupon = async () => (left > 0 ? { code: 'c' } : { reason: 'exhausted' })
    const { ask } = setUp({ decisions: [gift], assignCoupon })
    expect((await ask(['1'])).decisions[0]?.coupon).toBeNull()
    left = 1
    expect((await ask(['1'])).decisions[0]?.coupon).toEqual({ code: 'c', expiresAt: null })
  })

  it('assigns none while the decision is paused', async () => {
    const paused = { ...aDecision('1', { fallbackVariant: 'gift' }), status: 'paused' as const }
    const { ask, assigned } = setUp({ decisions: [paused] })
    const [decided] = (await ask(['1'])).decisions
    expect(decided).toMatchObject({
      variant: 'gift',
      reason: 'DISABLED',
      coupon: null,
      couponReason: 'disabled',
    })
    expect(assigned).toEqual([])
  })
})
