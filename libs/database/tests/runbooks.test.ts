import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { createTestDatabase, services, type TestDatabase } from '@waymark/testing'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const RUNBOOKS = path.resolve(import.meta.dirname, '../../../docs/runbooks')
const statements = readdirSync(RUNBOOKS).flatMap((name) =>
  [...readFileSync(path.join(RUNBOOKS, name), 'utf8').matchAll(/```sql\n([^`]+)```/g)]
    .flatMap(([, text = '']) => text.split(/;\n|\\watch \d+/))
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '')
    .map((statement): [string, string] => [name, statement]),
)

describe.skipIf(!services)('the runbooks', () => {
  let database: TestDatabase
  let client: pg.Client
  beforeAll(async () => {
    database = await createTestDatabase()
    client = new pg.Client(database.url)
    await client.connect()
  })
  afterAll(async () => {
    await client.end()
    await database.drop()
  })

  it('have statements', () => {
    expect(statements.length).toBeGreaterThan(5)
  })

  it.each(statements)('%s: %s', async (_, statement) => {
    await expect(client.query(statement)).resolves.toHaveProperty('rows')
  })
})
