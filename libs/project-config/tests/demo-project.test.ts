import { openDatabase } from '@waymark/database'
import { createTestDatabase, services } from '@waymark/testing'
import { expect, it, onTestFinished } from 'vitest'
import { ensureDemoProject } from '../src/index.ts'

it.skipIf(!services)('the demo project waits for a connection longer than a request may', async () => {
  const database = await createTestDatabase()
  const db = openDatabase({ url: database.url, poolSize: 1, applicationName: 'test', onError: () => {} })
  onTestFinished(async () => {
    await db.close()
    await database.drop()
  })
  const busy = await db.pool.connect()
  const made = ensureDemoProject(db)
  try {
    await expect(db.prisma.$transaction(async () => {})).rejects.toThrow(/Unable to start a transaction/)
  } finally {
    busy.release()
  }
  expect(await made).toMatchObject({ projectId: expect.any(String) })
})
