import { randomBytes } from 'node:crypto'
import { requireServices } from './services.ts'
import { execute, TEMPLATE, urlOf } from './template-database.ts'

/** A database of a single test file. */
export type TestDatabase = { url: string; drop(): Promise<void> }

/** Creates a database for one test file: with all tables and this month's partitions, or empty. */
export const createTestDatabase = async ({
  empty = false,
  postgresUrl = requireServices().postgresUrl,
} = {}): Promise<TestDatabase> => {
  const name = `test_${randomBytes(8).toString('hex')}`
  await execute(postgresUrl, `CREATE DATABASE ${name} TEMPLATE ${empty ? 'template0' : TEMPLATE}`)
  return {
    url: urlOf(postgresUrl, name),
    drop: () => execute(postgresUrl, `DROP DATABASE ${name} WITH (FORCE)`),
  }
}
