import type { Database } from '@waymark/database'
import { DEFAULT_ALPHABET } from '@waymark/domain/coupon'
import { eventually } from '@waymark/testing/servers'
import { v7 as uuidv7 } from 'uuid'
import type { Benchmark, Contender, Figures } from './benchmark.ts'
import { type HttpSide, startHttp } from './http-contender.ts'
import { figuresOf, startMeasured } from './measured-process.ts'
import { startPgbench } from './pgbench.ts'
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
