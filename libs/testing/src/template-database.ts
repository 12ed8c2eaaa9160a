import { migrate, openDatabase } from '@waymark/database'
import pg from 'pg'

/** The name of the migrated database that tests clone. */
export const TEMPLATE = 'waymark_template'

/** The address of another database on the same server. */
export const urlOf = (serverUrl: string, database: string): string => {
  const url = new URL(serverUrl)
  url.pathname = `/${database}`
  return url.href
}

/** Runs one statement on its own connection. */
export const execute = async (serverUrl: string, statement: string): Promise<void> => {
  const client = new pg.Client(serverUrl)
  await client.connect()
  await client.query(statement).finally(() => client.end())
}

/** Creates the migrated database that tests clone. */
export const makeTemplate = async (serverUrl: string): Promise<void> => {
  await execute(serverUrl, `CREATE DATABASE ${TEMPLATE}`)
  const url = urlOf(serverUrl, TEMPLATE)
  await migrate(url)
  const db = openDatabase({ url, poolSize: 2, applicationName: 'waymark-test', onError: () => {} })
  await db.close()
}
