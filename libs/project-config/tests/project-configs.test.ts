import { randomUUID } from 'node:crypto'
import { createMemoryCache } from '@waymark/cache'
import { openDatabase } from '@waymark/database'
import { createMemoryLog, createTestDatabase, services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createConfigChanges } from '../src/config-changes.ts'
import { createProjectConfigs } from '../src/project-configs.ts'

const DEFINITIONS = 1_000

describe.skipIf(!services)('a project with a thousand event definitions', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  let db: ReturnType<typeof openDatabase>
  const projectId = randomUUID()
  const log = createMemoryLog()

  beforeAll(async () => {
    database = await createTestDatabase()
    db = openDatabase({ url: database.url, poolSize: 2, applicationName: 'test', onError: () => {} })
    await db.prisma.project.create({
      data: { id: projectId, name: 'Large', tenant: { create: { id: randomUUID(), name: 'Large' } } },
    })
    await db.prisma.eventDefinition.createMany({
      data: Array.from({ length: DEFINITIONS }, (_, n) => ({
        id: randomUUID(),
        projectId,
        name: `event-${n}`,
        // Invalid, to detect when it is compiled.
        schema: n === 0 ? { type: 'no such type' } : { required: [`property-${n}`] },
      })),
    })
  })
  afterAll(async () => {
    await db.close()
    await database.drop()
  })

  it('reads them once, and compiles each that events need once', async () => {
    let queries = 0
    const pool = new Proxy(db.pool, {
      get: (target, name) => {
        if (name === 'query') queries++
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    // What is read in the millisecond of the first poll would be read again.
    const begunAt = Date.now()
    let asked = 0
    const now = () => begunAt + asked++
    const changes = createConfigChanges({ pool: db.pool, log, now })
    await changes.poll()
    const cache = createMemoryCache()
    const configs = createProjectConfigs({ pool, cache, changes, log, now })

    const config = await configs.get(projectId)
    expect(queries).toBe(1)
    expect(await configs.get(projectId)).toBe(config)
    expect(queries).toBe(1)

    const errors = () => log.lines.filter(({ level }) => level === 'error')
    const check = config.checkFor('event-7')
    expect(check?.({})).toMatchObject([{ field: expect.stringContaining('property-7') }])
    expect((await configs.get(projectId)).checkFor('event-7')).toBe(check)
    expect(config.checkFor('unknown')).toBeUndefined()
    expect(errors()).toEqual([])

    expect(config.checkFor('event-0')?.({})).toMatchObject([{ rule: 'unusable_schema' }])
    expect(errors()).toMatchObject([{ details: { what: 'event definition' } }])
  })
})
