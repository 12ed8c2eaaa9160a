import path from 'node:path'
import { openDatabase } from '@waymark/database'
import { DEFAULT_ALPHABET } from '@waymark/domain/coupon'
import {
  createMemoryLog,
  createTestDatabase,
  eventually,
  services,
  startProcess,
  untilDisconnected,
} from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createGenerateCodes } from '../src/generate-codes.ts'
import { createPool, createProject } from './pools.ts'

describe.skipIf(!services)('generating codes', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  let db: ReturnType<typeof openDatabase>
  let projectId: string

  beforeAll(async () => {
    database = await createTestDatabase()
    db = openDatabase({ url: database.url, poolSize: 10, applicationName: 'test', onError: () => {} })
    projectId = await createProject(db)
  })
  afterAll(async () => {
    await db.close()
    await database.drop()
  })

  const generate = () => createGenerateCodes({ db, log: createMemoryLog(), clock: Date.now })()
  const poolOf = (id: string) => db.prisma.couponPool.findUniqueOrThrow({ where: { id } })
  const rowsOf = (poolId: string) => db.prisma.coupon.count({ where: { poolId } })

  /** A generator in a separate process, which runs until it is killed. */
  const startWorker = () => {
    const script = `
      const { openDatabase } = await import(${JSON.stringify(path.resolve('libs/database/src/index.ts'))})
      const { createGenerateCodes } = await import(${JSON.stringify(path.resolve(import.meta.dirname, '../src/generate-codes.ts'))})
      const db = openDatabase({ url: ${JSON.stringify(database.url)}, poolSize: 2, applicationName: 'worker', onError: () => {} })
      const generate = createGenerateCodes({ db, log: console, clock: Date.now })
      for (;;) if (!(await generate())) await new Promise((resolve) => setTimeout(resolve, 20))`
    const worker = startProcess(process.execPath, ['--input-type=module', '-e', script])
    onTestFinished(() => worker.kill())
    return worker
  }

  it('continues after a kill, and two workers reach the size exactly', async () => {
    const { id } = await createPool(db, projectId, {
      status: 'generating',
      // So many that it cannot be ready before the kill.
      size: 1_000_000_000,
      generated: 0,
      prefix: 'SPRING',
    })
    const first = startWorker()
    await eventually('it is under way', async () => (await poolOf(id)).generated > 0)
    await first.kill()
    // The server may still commit what it got before.
    await untilDisconnected(db.pool, 'worker')
    const half = await poolOf(id)
    expect(half).toMatchObject({ status: 'generating' })
    expect(await rowsOf(id)).toBe(half.generated)

    const size = half.generated + 75_001
    await db.prisma.couponPool.update({ where: { id }, data: { size } })
    const workers = [startWorker(), startWorker()]
    await eventually('it is ready', async () => (await poolOf(id)).status === 'ready')
    await Promise.all(workers.map((worker) => worker.kill()))
    expect(await poolOf(id)).toMatchObject({ generated: size, failure: null })
    const { rows } = await db.pool.query(
      `SELECT count(*)::int AS n, count(DISTINCT code)::int AS codes, bool_and(code ~ $2) AS fit
       FROM coupon.coupons WHERE pool_id = $1`,
      [id, `^SPRING[${DEFAULT_ALPHABET}]{16}$`],
    )
    expect(rows).toEqual([{ n: size, codes: size, fit: true }])
  })

  it('serves the pool with the fewest remaining codes first', async () => {
    const large = await createPool(db, projectId, { status: 'generating', size: 30_000, generated: 0 })
    const small = await createPool(db, projectId, { status: 'generating', size: 5, generated: 0 })
    expect(await generate()).toBe(1)
    expect((await poolOf(small.id)).status).toBe('ready')
    expect((await poolOf(large.id)).generated).toBe(0)
    await db.prisma.couponPool.update({ where: { id: large.id }, data: { status: 'archived' } })
    expect(await generate()).toBe(0)
  })

  it('fails a pool when no new codes are found, and keeps a ready one ready', async () => {
    const tiny = { alphabet: 'AB', length: 4 }
    const pool = await createPool(db, projectId, { ...tiny, status: 'generating', size: 20, generated: 0 })
    while (await generate());
    expect(await poolOf(pool.id)).toMatchObject({
      status: 'failed',
      generated: 8,
      size: 8,
      failure: expect.stringContaining('too few'),
    })
    const ready = await createPool(db, await createProject(db), { ...tiny, size: 4, generated: 0 })
    while (await generate());
    await db.prisma.couponPool.update({ where: { id: ready.id }, data: { size: 30 } })
    while (await generate());
    expect(await poolOf(ready.id)).toMatchObject({ status: 'ready', generated: 8, size: 8 })
  })
})
