import { compileCondition } from '@waymark/domain/decision'
import { logicData, WorkBudget } from '@waymark/domain/logic'
import jsonLogic, { type RulesLogic } from 'json-logic-js'
import type { Benchmark, Contender } from './benchmark.ts'

const RULE: RulesLogic = {
  and: [
    { in: [{ var: 'context.country' }, ['DE', 'AT', 'CH']] },
    { '!=': [{ var: 'traits.plan' }, 'pro'] },
    { '>=': [{ var: 'counts.order_placed.30d' }, 2] },
    { or: [{ '==': [{ var: 'context.device' }, 'mobile'] }, { '<': [{ var: 'traits.age' }, 30] }] },
  ],
}

const people = Array.from({ length: 1_000 }, (_, n) => {
  const person = {
    traits: { plan: n % 3 === 0 ? 'pro' : 'free', age: 18 + (n % 50) },
    context: { country: ['DE', 'FR', 'AT'][n % 3], device: n % 2 === 0 ? 'mobile' : 'desktop' },
    counts: { order_placed: { '30d': n % 5 } },
  }
  return { person, prepared: logicData(person) }
})

const contender = (holds: (person: (typeof people)[number]) => boolean): Contender => ({
  run: async (seconds) => {
    const cpu = process.cpuUsage()
    const start = performance.now()
    let evaluations = 0
    let held = 0
    while (performance.now() - start < seconds * 1_000) {
      for (const person of people) if (holds(person)) held++
      evaluations += people.length
    }
    const { user, system } = process.cpuUsage(cpu)
    if (held === 0 || held === evaluations) throw new Error('the rule holds for all data or for none')
    return {
      perSecond: evaluations / ((performance.now() - start) / 1_000),
      cpuMicros: (user + system) / evaluations,
      p99Ms: null,
      peakRssMb: null,
    }
  },
  stop: async () => {},
})

const condition = compileCondition(RULE)
const budget = new WorkBudget(Number.POSITIVE_INFINITY)

/** A compiled condition of a decision, compared with json-logic-js, which interprets it each time. */
export const ruleBenchmark: Benchmark = {
  name: 'rule',
  unit: 'evaluations',
  goal: 10,
  prepare: async () => ({
    // As for a decision request: the data is prepared once for all conditions.
    ours: contender(({ prepared }) => condition.evaluate(prepared, budget) === 'holds'),
    baseline: contender(({ person }) => jsonLogic.apply(RULE, person) === true),
    dispose: async () => {},
  }),
}
