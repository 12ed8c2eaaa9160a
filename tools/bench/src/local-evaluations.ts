import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { FlagdProvider } from '@openfeature/flagd-provider'
import { DefaultLogger, OpenFeature } from '@openfeature/server-sdk'
import { localFlagOf, writeDecision } from '@waymark/domain/decision'

/** Evaluations a second that one process should reach. */
const GOAL = 100_000
const ROUNDS = 5
const PEOPLE = 10_000

/** An experiment with a condition on two attributes, a rollout and a holdout. */
const flag = localFlagOf({
  id: '01900000-0000-7000-8000-000000000001',
  projectId: 'p',
  key: 'checkout',
  status: 'active',
  version: 1,
  definition: writeDecision(
    {
      variants: [
        { key: 'off', value: false },
        { key: 'on', value: true },
      ],
      fallbackVariant: 'off',
      bucketing: 'flagd',
      holdout: 5,
      rules: [
        {
          condition: {
            and: [{ '==': [{ var: 'context.country' }, 'DE'] }, { '>=': [{ var: 'context.age' }, 18] }],
          },
          rollout: 80,
          split: [
            { variant: 'off', weight: 1 },
            { variant: 'on', weight: 1 },
          ],
        },
      ],
    },
    null,
    { newRuleId: () => 'rule', newSalt: () => 'salt' },
  ),
})

type Person = { targetingKey: string; country: string; age: number }

/** The median rate of evaluations a second. */
const rateOf = async (
  evaluations: number,
  evaluate: (person: Person) => Promise<unknown>,
): Promise<number> => {
  const people = Array.from({ length: PEOPLE }, (_, n) => ({
    targetingKey: `visitor-${n}`,
    country: n % 2 === 0 ? 'DE' : 'FR',
    age: n % 60,
  }))
  const rates: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const begunAt = performance.now()
    for (let n = 0; n < evaluations; n += PEOPLE) for (const person of people) await evaluate(person)
    rates.push((evaluations / (performance.now() - begunAt)) * 1_000)
  }
  return rates.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? 0
}

/** Prints how many evaluations a second flagd's provider for Node makes in one process, alone and by OpenFeature's SDK. */
export const measureLocalEvaluations = async (
  print: (line: string) => void,
  quick: boolean,
): Promise<void> => {
  const folder = await mkdtemp(path.join(tmpdir(), 'waymark-flags-'))
  try {
    const file = path.join(folder, 'flags.json')
    await writeFile(file, JSON.stringify({ flags: { checkout: flag } }))
    const provider = new FlagdProvider({ resolverType: 'in-process', offlineFlagSourcePath: file })
    await OpenFeature.setProviderAndWait(provider)
    const client = OpenFeature.getClient()
    const logger = new DefaultLogger()
    const evaluations = quick ? PEOPLE : 20 * PEOPLE
    const alone = await rateOf(evaluations, (person) =>
      provider.resolveBooleanEvaluation('checkout', false, person, logger),
    )
    const bySdk = await rateOf(evaluations, (person) => client.getBooleanValue('checkout', false, person))
    print(`local evaluations a second in one process: ${Math.round(alone)} by the provider (goal: ${GOAL})`)
    print(`and ${Math.round(bySdk)} by OpenFeature's SDK with it`)
  } finally {
    await OpenFeature.close()
    await rm(folder, { recursive: true, force: true })
  }
}
