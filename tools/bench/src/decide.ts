import type { PrismaClient } from '@waymark/database'
import { v7 as uuidv7 } from 'uuid'
import type { Benchmark } from './benchmark.ts'
import { bareSide, type HttpSide, startHttp } from './http-contender.ts'
import { startServers } from './servers.ts'

const DECISIONS = 5
const VISITORS = 2_000

export const addDecision = async (prisma: PrismaClient, projectId: string, key: string): Promise<void> => {
  const variants = ['control', 'treatment'].map((name) => ({
    key: name,
    value: { text: name },
    couponPoolId: null,
  }))
  const definition = {
    name: null,
    description: null,
    variants,
    fallbackVariant: 'control',
    rules: [
      {
        id: 'germany',
        description: null,
        condition: {
          and: [{ '==': [{ var: 'context.country' }, 'DE'] }, { '!=': [{ var: 'traits.plan' }, 'pro'] }],
        },
        prerequisites: [],
        rollout: 80,
        variant: null,
        split: variants.map((variant) => ({ variant: variant.key, weight: 1 })),
      },
    ],
    holdout: 5,
    frequencyCap: null,
    schedule: null,
    exclusionGroup: null,
    salt: key,
  }
  await prisma.decision.create({ data: { id: uuidv7(), projectId, key, status: 'active', definition } })
}

/**
 * `POST /api/v1/decide` with five active decisions for 2,000 visitors, compared with a bare Express that echoes the
 * body.
 */
export const decideBenchmark: Benchmark = {
  name: 'decide-five',
  unit: 'requests',
  goal: 0.6,
  prepare: async (options) => {
    const { env, apiKey, projectId, db, dispose } = await startServers(options)
    for (let n = 1; n <= DECISIONS; n++) await addDecision(db.prisma, projectId, `decision-${n}`)
    const bodies = Array.from({ length: VISITORS }, (_, n) =>
      JSON.stringify({ visitorId: `visitor-${n}`, context: { country: 'DE', page: '/pricing' } }),
    )
    const side: HttpSide = {
      entry: 'apps/decision-service/src/main.ts',
      env,
      path: '/api/v1/decide',
      headers: { 'X-API-Key': apiKey },
      // In order, all connections would request the same visitor at the same time, and none again within the cache's
      // TTL.
      body: () => bodies[Math.floor(Math.random() * bodies.length)] ?? '',
    }
    return { ours: await startHttp(side, options), baseline: await startHttp(bareSide(side)), dispose }
  },
}
