import { openDatabase } from '@waymark/database'
import { createTestDatabase, services } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { expect, it, onTestFinished } from 'vitest'
import { createEvaluations } from '../src/evaluations.ts'

const DAY_MS = 24 * 60 * 60 * 1_000

it.skipIf(!services)('stores the last day on which a decision was asked for, by many processes', async () => {
  const { url } = await createTestDatabase()
  const db = openDatabase({ url, poolSize: 10, applicationName: 'test', onError: () => {} })
  onTestFinished(() => db.close())
  const { id: tenantId } = await db.prisma.tenant.create({ data: { id: uuidv7(), name: 'Tenant' } })
  const { id: projectId } = await db.prisma.project.create({ data: { id: uuidv7(), tenantId, name: 'Shop' } })
  const created = new Date('2026-11-01')
  const ids = Array.from({ length: 50 }, () => uuidv7())
  await db.prisma.decision.createMany({
    data: ids.map((id) => ({
      id,
      projectId,
      key: id,
      status: 'active',
      definition: {},
      evaluatedOn: created,
    })),
  })
  const [unused = '', ...used] = ids
  const days = async () => {
    const rows = await db.prisma.decision.findMany({ where: { projectId }, orderBy: { id: 'asc' } })
    expect(rows.find(({ id }) => id === unused)?.evaluatedOn).toEqual(created)
    const found = rows.filter(({ id }) => id !== unused).map(({ evaluatedOn }) => evaluatedOn.toISOString())
    expect(found).toHaveLength(used.length)
    return new Set(found)
  }
  let now = Date.parse('2026-11-28T23:00:00Z')
  const processes = Array.from({ length: 4 }, () => createEvaluations({ db, clock: () => now }))
  const write = async (evaluations: (typeof processes)[number], order: readonly string[]) => {
    for (const id of order) evaluations.note(id)
    await evaluations.loop.run(new AbortController().signal)
  }
  const writeAll = () =>
    Promise.all(processes.map((one, index) => write(one, index % 2 === 0 ? used : used.toReversed())))
  await writeAll()
  expect(await days()).toEqual(new Set(['2026-11-28T00:00:00.000Z']))
  now += DAY_MS
  await writeAll()
  expect(await days()).toEqual(new Set(['2026-11-29T00:00:00.000Z']))
  // A process whose clock is behind takes nothing back.
  now -= DAY_MS
  await write(createEvaluations({ db, clock: () => now }), used)
  expect(await days()).toEqual(new Set(['2026-11-29T00:00:00.000Z']))
})
