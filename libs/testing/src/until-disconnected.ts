import { eventually } from './eventually.ts'

type Queryable = { query(sql: string, values: unknown[]): Promise<{ rows: unknown[] }> }

/**
 * Waits until the sessions of a killed process have ended in the database of `db`: PostgreSQL may carry out its last
 * statement after it is gone.
 */
export const untilDisconnected = (db: Queryable, applicationName: string): Promise<true> =>
  eventually(`the sessions of ${applicationName} have ended`, async () => {
    const { rows } = await db.query(
      'SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1',
      [applicationName],
    )
    return rows.length === 0
  })
