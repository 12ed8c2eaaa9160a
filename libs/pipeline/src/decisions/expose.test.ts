import type { Exposure } from '@waymark/contracts/records/change-records'
import type { Choice, CompiledDecision } from '@waymark/domain/decision'
import { expect, it } from 'vitest'
import { createExpose, type DecisionSubject } from './expose.ts'

const setUp = () => {
  const published: Exposure[] = []
  const world = { takes: true }
  const expose = createExpose({
    add: ({ value }) => {
      if (world.takes) published.push(value)
      return world.takes
    },
  })
  /** Shows a variant of a decision to a visitor on a day in May. */
  const show = (
    decision: string,
    variant: string,
    visitorId: string,
    day = '01',
    { kind = 'visitor', reason = 'SPLIT', hour = 12 }: Partial<Showing> = {},
  ) => {
    const compiled = { decision: { id: decision, key: decision, version: 1 } } as CompiledDecision
    const choice = { variant, reason, ruleId: 'r' } as Choice
    const decisionSubject: DecisionSubject = {
      subject: visitorId,
      identity: { projectId: 'p', kind, value: visitorId },
      profileId: null,
      projectId: 'p',
      decidedAt: `2026-05-${day}T${hour}:00:00.000Z`,
    }
    return expose(compiled, choice, decisionSubject)
  }
  const publishedNames = () =>
    published.map(({ decisionKey, variant, visitorId }) => `${decisionKey} ${variant} ${visitorId}`)
  return { show, publishedNames, published, world }
}
type Showing = { kind: 'visitor' | 'user'; reason: Choice['reason']; hour: number }

it('publishes a decision once per day and person, and again for another variant or day', () => {
  const { show, publishedNames } = setUp()
  for (let n = 0; n < 2; n++) {
    show('a', 'on', 'v')
    show('b', 'on', 'v')
    show('a', 'on', 'w')
  }
  expect(publishedNames()).toEqual(['a on v', 'b on v', 'a on w'])
  show('a', 'off', 'v')
  show('b', 'on', 'v')
  expect(publishedNames().slice(3)).toEqual(['a off v'])
  for (let n = 0; n < 2; n++) show('b', 'on', 'v', '02')
  expect(publishedNames().slice(4)).toEqual(['b on v'])
})

it('publishes the same variant again once a split gives it', () => {
  const { show, published } = setUp()
  for (const reason of ['DEFAULT', 'DEFAULT', 'SPLIT', 'SPLIT'] as const)
    show('a', 'off', 'v', '01', { reason })
  expect(published.map(({ reason }) => reason)).toEqual(['DEFAULT', 'SPLIT'])
})

it('publishes an exposure that was reported late and is earlier', () => {
  const { show, published } = setUp()
  for (const hour of [14, 12, 13]) show('a', 'on', 'v', '01', { hour })
  expect(published.map(({ exposedAt }) => exposedAt.slice(11, 13))).toEqual(['14', '12'])
})

it('does not take a user for the visitor with the same id', () => {
  const { show, published } = setUp()
  for (const kind of ['visitor', 'user'] as const) show('a', 'on', '42', '01', { kind })
  expect(published.map(({ visitorId, userId }) => [visitorId, userId])).toEqual([
    ['42', null],
    [null, '42'],
  ])
})

it('publishes again after a failure', () => {
  const { show, publishedNames, world } = setUp()
  world.takes = false
  expect(show('a', 'on', 'v')).toBe(false)
  world.takes = true
  expect(show('a', 'on', 'v')).toBe(true)
  expect(show('a', 'on', 'v')).toBe(true)
  expect(publishedNames()).toEqual(['a on v'])
})
