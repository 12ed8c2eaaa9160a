import type { Database } from '@waymark/database'
import { DEFAULT_ALPHABET } from '@waymark/domain/coupon'
import { resolveProfiles } from '@waymark/pipeline'
import { eventually } from '@waymark/testing/servers'
import { v7 as uuidv7 } from 'uuid'
import type { Benchmark, Contender, Figures } from './benchmark.ts'
import { type HttpSide, startHttp } from './http-contender.ts'
import { figuresOf, startMeasured } from './measured-process.ts'
import { startPgbench, startPgbenchReads } from './pgbench.ts'
import { startServers } from './servers.ts'

const ENTRY = 'apps/coupon-service/src/main.ts'
const CODES = 1_000_000
const CODES_QUICK = 100_000
const GENERATION_MS = 10 * 60_000
const REDEEMABLE = 2_000_000
const REDEEMABLE_QUICK = 400_000
const READY_ROWS = '/tmp/coupons.copy'
/** Connections that the coupon service has by default. */
const CLIENTS = 10

const createPool = async (
  { prisma }: Database,
  projectId: string,
  values: { status: string; size: number; generated: number },
): Promise<string> => {
  const { id } = await prisma.couponPool.create({
    data: {
      id: uuidv7(),
      projectId,
      name: 'Bench',
      kind: 'unique',
      prefix: '',
      alphabet: DEFAULT_ALPHABET,
      length: 16,
      discount: { type: 'percent', value: 10 },
      ...values,
      count: { create: {} },
    },
  })
  return id
}

const empty = ({ pool }: Database) =>
  pool.query('TRUNCATE coupon.pools, coupon.coupons, coupon.pool_counts CASCADE')

/**
 * Generating and storing a million unique codes by the coupon service, compared with `COPY` of the same number of rows.
 */
export const generationBenchmark: Benchmark = {
  name: 'coupon-codes',
  unit: 'codes',
  // At most three times as long.
  goal: 0.33,
  prepare: async (options) => {
    const codes = options.quick ? CODES_QUICK : CODES
    const { env, projectId, db, dispose } = await startServers(options)
    const service = await startMeasured({ entry: ENTRY, env }, options)

    const generate = async (): Promise<Figures> => {
      await empty(db)
      const before = await service.usage()
      const start = performance.now()
      const id = await createPool(db, projectId, { status: 'generating', size: codes, generated: 0 })
      const isReady = async (): Promise<boolean> =>
        (await db.prisma.couponPool.findUniqueOrThrow({ where: { id } })).status === 'ready'
      await eventually('the codes are generated', isReady, GENERATION_MS)
      const seconds = (performance.now() - start) / 1_000
      return figuresOf({ count: codes, seconds }, before, await service.usage())
    }
    // Rows like those of the service, in a file on the server.
    await generate()
    await db.pool.query(`COPY coupon.coupons TO '${READY_ROWS}'`)
    const copy = async (): Promise<Figures> => {
      await db.pool.query('TRUNCATE coupon.coupons')
      const start = performance.now()
      await db.pool.query(`COPY coupon.coupons FROM '${READY_ROWS}'`)
      const seconds = (performance.now() - start) / 1_000
      return { perSecond: codes / seconds, cpuMicros: null, p99Ms: null, peakRssMb: null }
    }
    return {
      ours: { run: generate, stop: service.stop },
      baseline: { run: copy, stop: async () => {} },
      dispose,
    }
  },
}

const FILL = `
  INSERT INTO coupon.coupons (id, project_id, pool_id, code)
  SELECT gen_random_uuid(), $1, $2, $3 || lpad(n::text, 12, '0') FROM generate_series(1, $4::int) AS n`

/**
 * `POST` redemptions of distinct codes, compared with pgbench running the same statements over the same connections.
 */
export const redeemBenchmark: Benchmark = {
  name: 'redeem',
  unit: 'redemptions',
  goal: 0.6,
  prepare: async (options) => {
    const codes = options.quick ? REDEEMABLE_QUICK : REDEEMABLE
    const { env, apiKey, projectId, db, postgres, dispose } = await startServers(options)
    const fill = async (prefix: string): Promise<string> => {
      const id = await createPool(db, projectId, { status: 'ready', size: codes, generated: codes })
      await db.pool.query(FILL, [projectId, id, prefix, codes])
      return id
    }
    await fill('OURS')
    const poolId = await fill('BARE')
    await db.pool.query('ANALYZE coupon.coupons')
    let next = 0
    const side: HttpSide = {
      entry: ENTRY,
      env,
      path: '/api/v1/coupons/redeem',
      headers: { 'X-API-Key': apiKey },
      body: () => JSON.stringify({ code: `OURS${`${++next}`.padStart(12, '0')}` }),
    }
    const ours: Contender = await startHttp(side, options)
    const baseline = startPgbench(postgres, { clients: CLIENTS, projectId, poolId, codes })
    return { ours, baseline, dispose }
  },
}

const PROMOTIONS = 50
const LINES = 20
const PERSON = 'ann'

/** Every second one is for items that the cart has, every fifth for a person with a trait, some lack an amount. */
const promotionOf = (projectId: string, n: number) => ({
  id: uuidv7(),
  projectId,
  name: `Promotion ${n}`,
  kind: 'automatic',
  status: 'ready',
  prefix: '',
  alphabet: DEFAULT_ALPHABET,
  length: 16,
  size: 0,
  discount:
    n % 3 === 0
      ? { type: 'amount', value: 100 + n, currency: 'EUR' }
      : { type: 'percent', value: 1 + (n % 20) },
  rules: {
    ...(n % 2 === 0 && { includedCategories: [`category-${n % 10}`] }),
    ...(n % 7 === 0 && { minimumAmount: 1_000_000 }),
    ...(n % 5 === 0 && { condition: { in: [{ var: 'traits.plan' }, ['pro', `plan-${n}`]] } }),
  },
  budgetAmount: 1_000_000_000n,
  budgetCurrency: 'EUR',
  stackable: n % 4 !== 0,
  priority: n,
  count: { create: {} },
})

/**
 * `POST /api/v1/promotions/qualify` with 50 automatic promotions and a cart of 20 lines, compared with pgbench reading the
 * same rows.
 */
export const qualifyBenchmark: Benchmark = {
  name: 'qualify',
  unit: 'carts',
  goal: 0.2,
  prepare: async (options) => {
    const { env, apiKey, projectId, db, postgres, dispose } = await startServers(options)
    for (let n = 1; n <= PROMOTIONS; n++)
      await db.prisma.couponPool.create({ data: promotionOf(projectId, n) })
    const [profileId] = await resolveProfiles(db.pool, [{ projectId, visitorId: null, userId: PERSON }])
    await db.pool.query('UPDATE ingest.profiles SET traits = $2 WHERE id = $1', [profileId, { plan: 'pro' }])
    const items = Array.from({ length: LINES }, (_, n) => ({
      sku: `sku-${n}`,
      category: `category-${n % 10}`,
      quantity: 1 + (n % 3),
      unitAmount: 500 + 37 * n,
    }))
    const side: HttpSide = {
      entry: ENTRY,
      env,
      path: '/api/v1/promotions/qualify',
      headers: { 'X-API-Key': apiKey },
      body: JSON.stringify({ userId: PERSON, currency: 'EUR', shippingAmount: 490, items }),
    }
    return {
      ours: await startHttp(side, options),
      baseline: startPgbenchReads(postgres, { clients: CLIENTS, projectId, userId: PERSON }),
      dispose,
    }
  },
}
